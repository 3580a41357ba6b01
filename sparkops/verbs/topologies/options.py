"""What `bench topologies` is asked for."""

from dataclasses import dataclass

from sparkops.verbs.bench.options import BenchOptions


@dataclass(frozen=True)
class TopologiesOptions:
    """`bench` is what is run on each topology in turn; `anew` leaves what an interrupted one has measured."""

    bench: BenchOptions
    recipe: str | None = None
    topologies: tuple[str, ...] = ("solo", "cluster", "2x-solo")
    output: str | None = None
    anew: bool = False
