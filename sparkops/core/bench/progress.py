"""How far a benchmark is, in one line: a bar over all its rounds, and how long the rest may take."""

from dataclasses import dataclass

BAR = 20


@dataclass(frozen=True)
class Progress:
    """`before` points are done of `points`; of the one under way `ended` requests of `requests`."""

    points: int
    before: int
    requests: int
    ended: int = 0

    @property
    def share(self) -> float:
        """Every point counts alike: its rounds are as many, and as long as its answers."""
        return min(1.0, (self.before + min(1.0, self.ended / max(self.requests, 1))) / max(self.points, 1))

    def line(self, seconds: float) -> str:
        """As a probe says it: `wait`, then what people read."""
        filled = int(self.share * BAR)
        rest = seconds / self.share - seconds if self.share else 0.0
        done = f"{min(self.ended, self.requests)} of {self.requests} requests"
        bar = "#" * filled + "-" * (BAR - filled)
        return f"wait [{bar}] point {self.before + 1} of {self.points}, {done}, about {rest / 60:.0f} min left"
