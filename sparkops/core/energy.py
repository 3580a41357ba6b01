"""What a token costs in energy: the power of the GPUs over what was done in the same time."""

from collections.abc import Iterable, Sequence

LEFT_OUT = "power of the GPUs as their driver reads it, without CPU, memory, network, fans and power supply"
"""Said beside each number of joules: GB10 tells no other power."""

FEWEST = 5
"""Readings that a number is made of."""


def energy_text(token: float, request: float | None) -> str:
    """As every screen and report says it."""
    return f"{token:,.1f} J per generated token" + (f", {request:,.0f} J per request" if request else "")


def joules_per(watts: Iterable[Sequence[float]], rates: Iterable[Sequence[float]]) -> float | None:
    """Joules for each one of what is done.

    `watts`: the last readings of each GPU; `rates`: how much each did per second at the same times. A GPU that works
    never takes 0 W, so that a zero is no reading. None while nothing is done, or too little is known.
    """
    power = [_mean(tuple(filter(None, one))) for one in watts]
    known = [one for one in power if one is not None]
    rate = sum(mean for one in rates if (mean := _mean(one)) is not None)
    return sum(known) / rate if known and len(known) == len(power) and rate > 0 else None


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if len(values) >= FEWEST else None
