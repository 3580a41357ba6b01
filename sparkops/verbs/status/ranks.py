"""Which ranks of executor mp have met, and why the others have not, as the logs on their own nodes say. Pure."""

from collections.abc import Sequence
from typing import Any

from sparkops.core.condition import MemberContainer, ServingProbe
from sparkops.core.diagnosis import diagnose
from sparkops.core.enginelog import since_meeting
from sparkops.core.stored import Stored
from sparkops.verbs.status.causes import Logs


def ranks(
    stored: Stored, fronts: Sequence[ServingProbe], parts: Sequence[MemberContainer], logs: Logs
) -> dict[str, Any] | None:
    """The value of the key `ranks`; None without executor mp. `here` is None if rank 0 did not say."""
    if stored.executor != "mp":
        return None
    met = next((front.ranks for front in fronts if front.ranks is not None), None)
    gone = {number: part for number, part in enumerate(parts) if met is not None and number not in met}
    missing = [{"rank": number, "node": part.node, "reason": _why(part, logs)} for number, part in gone.items()]
    return {"total": len(parts), "here": None if met is None else len(parts) - len(missing), "missing": missing}


def _why(part: MemberContainer, logs: Logs) -> str:
    """What its own log says since the ranks met last, else a state that explains by itself why the rank is missing."""
    found = diagnose(since_meeting(logs.get((part.node, part.container or ""), "")))
    if found is not None:
        return found.cause
    return "" if part.shown == "running" else part.shown
