"""How fast an engine works: from its counters in two frames."""

from dataclasses import dataclass, replace

from sparkops.core.watch.engine import Engine


@dataclass(frozen=True)
class Pace:
    """Per second: tokens written and read, requests done. `accepted` is the share of speculated tokens that held.

    `stuck`: seconds since the engine last did anything, while it has requests; `slowest`: the most seconds between two
    signs of work so far. `silent`: seconds since its API, which answered before or takes connections, did so last.
    """

    written: float | None = None
    read: float | None = None
    done: float | None = None
    accepted: float | None = None
    stuck: float = 0.0
    slowest: float = 0.0
    answered: bool = False
    silent: float = 0.0


def pace(before: Engine | None, now: Engine, last: Pace, seconds: float) -> Pace:
    """The pace after `seconds` more. An engine that started anew counts from zero again."""
    if not now.answers:
        silent = last.silent + seconds if last.answered or (now.health == "silent" and not now.boots) else 0.0
        return Pace(stuck=last.stuck, slowest=last.slowest, answered=last.answered, silent=silent)
    if not now.counters:  # its health answered and its counters did not
        return replace(last, written=None, read=None, done=None, accepted=None, answered=True, silent=0.0)
    if before is None or not before.answers:
        return Pace(slowest=last.slowest, answered=True)
    drafted = _grown(before, now, "spec_decode_num_draft_tokens_total")
    stuck, slowest = _stuck(before, now, last, seconds)
    return Pace(
        written=_per(_grown(before, now, "generation_tokens_total"), seconds),
        read=_per(_grown(before, now, "prompt_tokens_total"), seconds),
        done=_per(_grown(before, now, "request_success_total"), seconds),
        accepted=_per(_grown(before, now, "spec_decode_num_accepted_tokens_total"), drafted) if drafted else None,
        stuck=stuck,
        slowest=slowest,
        answered=True,
    )


def _stuck(before: Engine, now: Engine, last: Pace, seconds: float) -> tuple[float, float]:
    if now.running and (not before.counters or (before.running and now.work == before.work)):
        return last.stuck + seconds, last.slowest
    return 0.0, max(last.slowest, last.stuck)


def _grown(before: Engine, now: Engine, counter: str) -> float | None:
    """What a counter grew by; None where the engine did not tell it twice, or started anew."""
    if counter not in now.counters or counter not in before.counters:
        return None
    grown = now.counters[counter] - before.counters[counter]
    return grown if grown >= 0 else None


def _per(amount: float | None, unit: float) -> float | None:
    return None if amount is None else amount / unit
