"""Reference tables: what others measured, typed, so that it can be shown exactly and compared with one's own runs."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sparkops.core import schema
from sparkops.core.schema import Located

METRICS = {
    "prefill": "prompt tokens per second, over all requests",
    "decode": "generated tokens per second, over all requests",
    "peak": "tokens generated in the best single second, over all requests",
    "total": "prompt and answer tokens per second, over all requests",
    "ttft": "milliseconds from a request to its first token",
    "itl": "milliseconds between two tokens of one request",
    "e2e": "milliseconds from a request to its last token",
}
"""What a column may measure; other columns are for people to read."""

Cell = str | int | float | None


@dataclass(frozen=True)
class Column:
    """`metric` is one of METRICS or `concurrency`; `topology` where the columns, not the table, differ by it."""

    name: str
    unit: str = ""
    metric: str = ""
    topology: str = ""
    other: bool = False
    """The column is for comparison only: its values were not measured with this recipe."""


@dataclass(frozen=True)
class _Table:
    """A table as it stands in a file; its rows are not yet checked against its columns."""

    id: str
    title: str
    source: str
    date: str
    columns: tuple[Column, ...]
    rows: tuple[Any, ...]
    topology: str = ""
    setup: str = ""
    reading: str = ""
    args: Mapping[str, Any] = field(default_factory=dict)
    prompt: int = 0
    answer: int = 0


@dataclass(frozen=True)
class ReferenceTable(_Table):
    """One table as its source prints it. `reading` says how to interpret it, `setup` how it was measured.

    `args` are flags of the measured engines, `prompt` and `answer` the tokens of a request, as far as the source names
    them.
    """

    rows: tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True)
class ReferencePoint:
    """One measured value of a recipe."""

    metric: str
    topology: str
    concurrency: int
    value: float
    source: str
    date: str


def read(document: Located) -> tuple[ReferenceTable, ...]:
    """The tables of one file: a mapping with `tables`."""
    entries = schema.mapping(document, known=("tables",)).get("tables")
    if entries is None:
        schema.fail(document, "tables", "is required")
    return tuple(table(entry, f"tables[{index}]") for index, entry in enumerate(schema.listed(entries, "tables")))


def table(entry: Located, path: str) -> ReferenceTable:
    made = schema.build(_Table, entry, path)
    rows = tuple(tuple(row) for row in made.rows if isinstance(row, list))
    if len(rows) != len(made.rows) or any(len(row) != len(made.columns) for row in rows):
        schema.fail(entry, f"{path}.rows", f"each row must be a list of {len(made.columns)} values, one per column")
    known = {"concurrency", *METRICS}
    for column in made.columns:
        if column.metric and column.metric not in known:
            meant = schema.did_you_mean(column.metric, known)
            schema.fail(entry, f"{path}.columns", f"no such metric: {column.metric}{meant}")
    return ReferenceTable(**{**vars(made), "rows": rows})


def points(found: Sequence[ReferenceTable]) -> Iterator[ReferencePoint]:
    """All values with a metric, a topology and a concurrency: what a machine may compare."""
    for one in found:
        at = next((index for index, column in enumerate(one.columns) if column.metric == "concurrency"), None)
        if at is None:
            continue
        measured = [column for column in one.columns if column.metric in METRICS and not column.other]
        for row in one.rows:
            for column in measured:
                topology, concurrency = column.topology or one.topology, row[at]
                value = row[one.columns.index(column)]
                if topology and isinstance(concurrency, int) and isinstance(value, (int, float)):
                    yield ReferencePoint(column.metric, topology, concurrency, float(value), one.source, one.date)


def differences(
    found: Sequence[ReferenceTable], topology: str, args: Mapping[str, Any], sizes: Iterable[tuple[int, int]]
) -> Iterator[str]:
    """How flags and sizes (tokens of prompt and answer) of a run differ from the published ones of its topology."""
    beside = [one for one in found if any(point.topology == topology for point in points([one]))]
    published = dict.fromkeys((one.prompt, one.answer) for one in beside if one.prompt)
    for prompt, answer in published:
        if other := [f"{mine[0]} and {mine[1]}" for mine in dict.fromkeys(sizes) if mine != (prompt, answer)]:
            told = f"{prompt} and {answer} in the published runs, {', '.join(other)} in this run"
            yield f"tokens of prompt and answer: {told}"
    said = {f"{name} {value}": (name, value) for one in beside for name, value in one.args.items()}
    for name, value in said.values():
        if args.get(name) != value:
            yield f"--{name}: {value} in the published runs, {args.get(name, 'not set')} in this run"


def document(one: ReferenceTable) -> Mapping[str, Any]:
    """For `--json`: the table with its columns spelled out, empty keys left out."""
    columns = [{key: value for key, value in vars(column).items() if value} for column in one.columns]
    plain = {
        key: getattr(one, key)
        for key in ("id", "title", "source", "date", "topology", "setup", "reading", "args", "prompt", "answer")
    }
    return {**{key: value for key, value in plain.items() if value}, "columns": columns, "rows": [*map(list, one.rows)]}
