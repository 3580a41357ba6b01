"""Options of the verbs of `bench`."""

from dataclasses import dataclass, field

from sparkops.core.target import Target


@dataclass(frozen=True)
class BenchOptions:
    """`url` (with `model`) measures an endpoint whose setup is unknown. `resume` is the id of a run to continue.

    `tokenizer` is a file on this machine; by default it is copied from the node. `book` is a file on this machine, or
    with `on` a file on that node; by default the text of `node/benchy.py`. `sets` change the suite (`concurrency=1,2`).
    """

    where: Target
    suite: str = "smoke"
    deployment: str | None = None
    url: str | None = None
    model: str | None = None
    label: str | None = None
    tokenizer: str | None = None
    book: str | None = None
    coherence: bool = True
    sets: tuple[str, ...] = ()
    resume: str | None = None
    api_key: str | None = field(default=None, repr=False)
    on: str | None = None


@dataclass(frozen=True)
class RecordsOptions:
    """`names` are ids or their beginnings; `output` is a file, or a directory for SVG; None is stdout."""

    names: tuple[str, ...] = ()
    format: str = "md"
    output: str | None = None


@dataclass(frozen=True)
class CompareOptions:
    """`vary` names what may differ; `reference` compares with the published results of `recipe`, else of the run's."""

    names: tuple[str, ...]
    vary: frozenset[str] = frozenset()
    reference: bool = False
    recipe: str | None = None
    output: str | None = None


@dataclass(frozen=True)
class TopologiesOptions:
    """`bench` runs on each topology in turn; `anew` discards the results of an interrupted experiment."""

    bench: BenchOptions
    recipe: str | None = None
    topologies: tuple[str, ...] = ("solo", "cluster", "2x-solo")
    output: str | None = None
    anew: bool = False
