"""A benchmark's record: results, the exact setup, and llama-benchy's own documents unchanged."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from sparkops.core.bench.measured import Measured, read
from sparkops.core.bench.samples import Sample
from sparkops.core.bench.suites import Suite

SCHEMA = 1
"""Version of the file; readers accept all ever released."""


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

    def document(self) -> dict[str, Any]:
        """The file's content; `load` reads it back."""
        return {"schema": SCHEMA, "kind": "sparkops-bench", **asdict(self)}


class NotARecord(ValueError):
    """One line: why a document is not a readable record."""


def load(document: Any) -> Record:
    """The record that a document holds."""
    if not isinstance(document, dict) or document.get("kind") != "sparkops-bench":
        raise NotARecord("is not a sparkops benchmark")
    if document.get("schema") != SCHEMA:
        raise NotARecord(f"has schema {document.get('schema')}; this sparkops reads up to schema {SCHEMA}")
    try:
        fields = {name: document[name] for name in ("id", "started", "label", "url", "model", "versions")}
        suite = Suite(**{name: _frozen(value) for name, value in document["suite"].items()})
        samples = tuple(Sample(**sample) for sample in document.get("samples", ()))
        fields["raw"] = tuple(document["raw"])
        rest = {
            "lock": document.get("lock"),
            "seconds": document.get("seconds", 0.0),
            "lab": document.get("lab") is True,
        }
        return Record(suite=suite, samples=samples, problems=tuple(document.get("problems", ())), **fields, **rest)
    except (KeyError, TypeError, AttributeError) as error:
        raise NotARecord(f"is damaged ({type(error).__name__}: {error})") from None


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


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
