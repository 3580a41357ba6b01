"""Which ranks of executor mp have met, and why the others have not, as the logs on their own nodes say. Pure."""

from typing import Any

from sparkops.core.condition import MemberContainer
from sparkops.core.diagnosis import diagnose
from sparkops.core.enginelog import since_meeting
from sparkops.verbs.status.causes import Logs
from sparkops.verbs.status.look import Looked


def ranks(one: Looked, logs: Logs) -> dict[str, Any] | None:
    """The value of the key `ranks`, over all copies; None without executor mp.

    `here` is None unless rank 0 of each copy said which are here.
    """
    if one.stored.executor != "mp":
        return None
    parts = dict(zip((member for member, _ in one.places), one.parts, strict=True))
    told = [(copy, asked.ranks) for copy, asked in one.copies if asked.ranks is not None]
    missing = [
        {"rank": number, "node": rank.name, "reason": _why(parts[rank], logs)}
        for copy, met in told
        for number, rank in enumerate(copy)
        if number not in met
    ]
    total = len(one.stored.engines)
    here = total - len(missing) if told and len(told) == len(one.copies) else None
    return {"total": total, "here": here, "missing": missing}


def _why(part: MemberContainer, logs: Logs) -> str:
    """What its own log says since the ranks met last, else a state that explains by itself why the rank is missing."""
    found = diagnose(since_meeting(logs.get((part.node, part.container or ""), "")))
    if found is not None:
        return found.cause
    return "" if part.shown == "running" else part.shown
