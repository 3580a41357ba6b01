"""Which ranks of executor mp have met, and why the others have not, as the logs on their own nodes say."""

from collections.abc import Mapping, Sequence
from typing import Any

from sparkops.core.condition import MemberContainer, ServingProbe
from sparkops.core.diagnosis import diagnose, since_meeting
from sparkops.core.stored import Stored
from sparkops.node_commands import scripts
from sparkops.session.session import Session
from sparkops.verbs.status.logs import read_logs

LINES = 300
"""Of a missing rank's log: as many as `@probe` shows of an engine that ended."""


def ranks(
    session: Session, stored: Stored, fronts: Sequence[ServingProbe], parts: Sequence[MemberContainer]
) -> dict[str, Any] | None:
    """The value of the key `ranks`; None without executor mp. `here` is None if rank 0 did not say."""
    if stored.executor != "mp":
        return None
    met = next((front.ranks for front in fronts if front.ranks is not None), None)
    gone = {number: part for number, part in enumerate(parts) if met is not None and number not in met}
    causes = _causes(session, gone)
    missing = [
        {"rank": number, "node": part.node, "reason": causes.get(number) or _state(part)}
        for number, part in gone.items()
    ]
    return {"total": len(parts), "here": None if met is None else len(parts) - len(missing), "missing": missing}


def _state(part: MemberContainer) -> str:
    """A state that explains by itself why the rank is missing, else an empty text."""
    return "" if part.shown == "running" else part.shown


def _causes(session: Session, gone: Mapping[int, MemberContainer]) -> dict[int, str]:
    """By rank, what its own log says since the ranks met last."""
    asked = [(number, part.node, part.container) for number, part in gone.items() if part.reachable and part.container]
    wanted = [(node, container, scripts.logs(container, LINES)) for _, node, container in asked if container]
    told = {entry["node"]: entry["text"] for entry in read_logs(session, wanted)} if wanted else {}
    found = {number: diagnose(since_meeting(told.get(node, ""))) for number, node, _ in asked}
    return {number: diagnosis.cause for number, diagnosis in found.items() if diagnosis}
