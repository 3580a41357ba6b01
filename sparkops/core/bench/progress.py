"""A benchmark's progress in one line: a bar, the current point, and the estimated remaining time."""

from dataclasses import dataclass

BAR = 20


@dataclass(frozen=True)
class Progress:
    """`before` of `points` points are done; in the current one, `ended` of `requests` requests."""

    points: int
    before: int
    requests: int
    ended: int = 0

    @property
    def share(self) -> float:
        """Share done, 0 to 1. Every point counts equally: all have as many rounds and similar answers."""
        return min(1.0, (self.before + min(1.0, self.ended / max(self.requests, 1))) / max(self.points, 1))

    def line(self, seconds: float) -> str:
        """The line of a probe: `wait`, then the text that people read."""
        filled = int(self.share * BAR)
        rest = seconds / self.share - seconds if self.share else 0.0
        done = f"{min(self.ended, self.requests)} of {self.requests} requests"
        bar = "#" * filled + "-" * (BAR - filled)
        return f"wait [{bar}] point {self.before + 1} of {self.points}, {done}, about {rest / 60:.0f} min left"
