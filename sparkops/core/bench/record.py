"""A benchmark's record: results, the exact setup, and llama-benchy's own documents unchanged."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from math import prod
from typing import Any

from sparkops.core.bench.measured import Measured, read
from sparkops.core.bench.samples import Sample, joules
from sparkops.core.bench.suites import Suite
from sparkops.core.energy import LEFT_OUT
from sparkops.core.lockfile import RecipeLock
from sparkops.core.typed import Mistyped, typed

SCHEMA = 1
"""Version of the file; readers accept all ever released."""

MOST_POINTS = 4096


@dataclass(frozen=True)
class Record:
    """`lock` is what ran, as `sparkops recipe lock` writes it; None for a URL of which nothing is known.

    `raw` are llama-benchy's documents, one a point. `problems` are what makes the numbers unfit to be shown as results;
    llama-benchy's own come with `measured`. `lab`: the nodes were emulated, so the numbers say nothing about a GB10.
    """

    id: str
    started: str
    suite: Suite
    label: str
    url: str
    model: str
    versions: Mapping[str, str]
    raw: tuple[Mapping[str, Any], ...]
    lock: Mapping[str, Any] | None = None
    problems: tuple[str, ...] = ()
    samples: tuple[Sample, ...] = ()
    seconds: float = 0.0
    lab: bool = False

    @property
    def text(self) -> str:
        """What the prompts were made of; runs before this was recorded used llama-benchy's book, or a file."""
        return str(self.versions.get("text", "llama-benchy's book or a file"))

    @property
    def measured(self) -> Measured:
        return read(self.raw, self.suite)

    @property
    def all_problems(self) -> tuple[str, ...]:
        return (*self.problems, *self.measured.problems)

    @property
    def ok(self) -> bool:
        return not self.all_problems

    @property
    def state(self) -> str:
        """`ok`, `failed`, or `unfinished` after an interrupt: nothing failed, but points are missing."""
        if self.ok:
            return "ok"
        unfinished = not self.problems and len(self.measured.rows) == len(self.raw)
        return "unfinished" if unfinished else "failed"

    def table(self) -> list[dict[str, Any]]:
        """The results of each point, by our metric names."""
        return [
            {**vars(row.point), "metrics": {name: {"mean": m.mean, "std": m.std} for name, m in row.metrics.items()}}
            for row in self.measured.rows
        ]

    @property
    def energy(self) -> dict[str, Any] | None:
        """Joules for each generated token and each request; the whole run counts, with warm-up and pauses.

        None of a run that is not complete, or of which a node told no power.
        """
        took = joules(self.samples, (self.lock or {}).get("nodes", {}), self.seconds)
        if took is None or not self.ok:
            return None
        requests = self.suite.runs * sum(point.concurrency for point in self.suite.points)
        tokens = self.suite.runs * sum(point.concurrency * point.answer for point in self.suite.points)
        return {"joules_per_token": took / tokens, "joules_per_request": took / requests, "left_out": LEFT_OUT}

    def document(self) -> dict[str, Any]:
        """The file's content; `load` reads it back."""
        return {"schema": SCHEMA, "kind": "sparkops-bench", **asdict(self)}


class NotARecord(ValueError):
    """One line: why a document is not a readable record."""


def load(document: Any) -> Record:
    """The record that a document holds, checked to its last key; what llama-benchy wrote is checked by `measured`."""
    if not isinstance(document, dict) or document.get("kind") != "sparkops-bench":
        raise NotARecord("is not a sparkops benchmark")
    if document.get("schema") != SCHEMA:
        raise NotARecord(f"has schema {document.get('schema')!r:.20}; this sparkops reads up to schema {SCHEMA}")
    try:
        found = typed(Record, document)
        if found.lock is not None:
            typed(RecipeLock, found.lock, "lock")
            typed(_Revision, found.lock["revision"], "lock.revision")
    except Mistyped as error:
        raise NotARecord(f"is damaged: {error}") from None
    if problem := _impossible(found.suite):
        raise NotARecord(f"is damaged: suite: {problem}")
    return found


@dataclass(frozen=True)
class _Revision:
    """What is read of the revision in a lock."""

    recipe: str = ""
    model: str = ""
    topology: str = ""
    args: Mapping[str, Any] = field(default_factory=dict)


def _impossible(suite: Suite) -> str | None:
    lists = (suite.prompts, suite.answers, suite.concurrency, suite.depths)
    if not 0 < prod(map(len, lists)) <= MOST_POINTS:
        return f"must have 1 to {MOST_POINTS} points"
    least = min(*suite.prompts, *suite.answers, *suite.concurrency, suite.runs)
    return "its numbers must be positive" if least < 1 or min(suite.depths) < 0 else None


@dataclass(frozen=True)
class Series:
    """Records of one report by label; `failed` has the reason for each label that could not be measured."""

    title: str
    records: Mapping[str, Record] = field(default_factory=dict)
    failed: Mapping[str, str] = field(default_factory=dict)


def series(title: str, records: Sequence[Record], failed: Mapping[str, str] | None = None) -> Series:
    """Records by label; runs of the lab are marked, and equal labels get the end of the record's id."""
    labels = [record.label for record in records]
    named = {
        (record.label if labels.count(record.label) == 1 else f"{record.label} {record.id[-6:]}")
        + (" (lab)" if record.lab else ""): record
        for record in records
    }
    return Series(title, named, failed or {})
