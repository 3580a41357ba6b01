"""Whether two results differ beyond their noise: Welch's t interval of the difference of two means.

Welch, Biometrika 34 (1947), 28-35; NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.5.3 and 7.4.7.3 (Bonferroni).
"""

import math
from dataclasses import dataclass
from typing import Literal

from sparkops.core.bench.measured import Metric

ERROR = 0.05
"""How often a table of results without any real difference may contain a claim."""

STEPS = 200


@dataclass(frozen=True)
class Judgement:
    """`gain`: how much the second mean differs from the first, in percent. `margin`: half the width of its interval.

    `margin` is None if one of the two has fewer than two runs, because one run has no known spread.
    """

    gain: float
    margin: float | None

    @property
    def word(self) -> Literal["higher", "lower", "same", "unknown"]:
        """`same`: no difference beyond the noise; `unknown`: nothing can be claimed."""
        if self.margin is None:
            return "unknown"
        if abs(self.gain) <= self.margin:
            return "same"
        return "higher" if self.gain > 0 else "lower"

    @property
    def differs(self) -> bool:
        return self.word in ("higher", "lower")


def judge(first: Metric, other: Metric, comparisons: int = 1) -> Judgement | None:
    """Compare the means of the runs of two results; None if the first mean is 0.

    `comparisons` is the number of pairs that are compared together: each may err in `ERROR / comparisons` of cases.
    """
    if not first.mean:
        return None
    gain = 100 * (other.mean / first.mean - 1)
    counts = len(first.runs), len(other.runs)
    if min(counts) < 2:  # noqa: PLR2004
        return Judgement(gain, None)
    shares = [_variance(runs) / len(runs) for runs in (first.runs, other.runs)]
    if not sum(shares):
        return Judgement(gain, 0.0)
    freedom = sum(shares) ** 2 / sum(share**2 / (count - 1) for share, count in zip(shares, counts, strict=True))
    width = critical(freedom, ERROR / comparisons) * math.sqrt(sum(shares))
    return Judgement(gain, 100 * width / abs(first.mean))


def critical(freedom: float, error: float) -> float:
    """The t that Student's distribution exceeds, on both sides together, with the probability `error`."""
    low, high = 0.0, 1.0
    while inside(high, freedom) < 1 - error:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if inside(middle, freedom) < 1 - error else (low, middle)
    return high


def inside(t: float, freedom: float) -> float:
    """The probability of a value between -t and t of Student's distribution.

    With t = sqrt(freedom) * tan(x), its density is a power of cos(x), which Simpson's rule integrates.
    """
    scale = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)) / math.sqrt(math.pi)
    width = math.atan(t / math.sqrt(freedom)) / STEPS
    heights = [math.cos(step * width) ** (freedom - 1) for step in range(STEPS + 1)]
    area = heights[0] + heights[-1] + 4 * sum(heights[1:-1:2]) + 2 * sum(heights[2:-1:2])
    return float(2 * scale * width / 3 * area)


def _variance(values: tuple[float, ...]) -> float:
    mean = sum(values) / len(values)
    return sum((value - mean) ** 2 for value in values) / (len(values) - 1)
