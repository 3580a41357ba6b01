"""Which ranks of executor mp have met, and why the others have not, as the logs on their own nodes say. Pure."""

from collections.abc import Sequence
from typing import Any

from sparkops.core.condition import MemberContainer, ServingProbe
from sparkops.core.diagnosis import diagnose
from sparkops.core.enginelog import since_meeting
from sparkops.core.stored import Stored
from sparkops.core.topology import split
from sparkops.verbs.status.causes import Logs


def ranks(
    stored: Stored, engines: Sequence[ServingProbe], parts: Sequence[MemberContainer], logs: Logs
) -> dict[str, Any] | None:
    """The value of the key `ranks`, over all copies; None without executor mp.

    `engines` are the answers of rank 0 of each copy. `here` is None unless all of them said.
    """
    if stored.executor != "mp":
        return None
    copies = list(zip(split([part for part in parts if part.role != "proxy"]), engines, strict=True))
    told = [(ranks, asked.ranks) for ranks, asked in copies if asked.ranks is not None]
    missing = [
        {"rank": number, "node": part.node, "reason": _why(part, logs)}
        for ranks, met in told
        for number, part in enumerate(ranks)
        if number not in met
    ]
    total = sum(len(ranks) for ranks, _ in copies)
    return {"total": total, "here": total - len(missing) if len(told) == len(copies) else None, "missing": missing}


def _why(part: MemberContainer, logs: Logs) -> str:
    """What its own log says since the ranks met last, else a state that explains by itself why the rank is missing."""
    found = diagnose(since_meeting(logs.get((part.node, part.container or ""), "")))
    if found is not None:
        return found.cause
    return "" if part.shown == "running" else part.shown
