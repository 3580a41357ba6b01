"""What a run measured, on what, as names and texts: the top of a report."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sparkops.core.bench.record import Record


def setup(records: Sequence[Record]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Names, each with the text of every run: hardware, image, flags, versions, suite. What no run has is left out."""
    runs = [{"model": record.model, **dict(_deployment(record))} for record in records]
    yield from _rows(runs)
    flags = [{f"--{name}": _text(value) for name, value in _revision(record, "args").items()} for record in records]
    rows = list(_rows(flags))
    # A flag that all runs share is one of many in one line; the others are what the runs differ in.
    yield from (row for row in rows if len(set(row[1])) > 1)
    shared = " ".join(
        name if texts[0] == "true" else f"{name} {texts[0]}" for name, texts in rows if len({*texts}) == 1
    )
    yield from [("flags", (shared,) * len(runs))] if shared else []
    yield from _rows([dict(_run(record)) for record in records])


def _rows(runs: Sequence[Mapping[str, str]]) -> Iterator[tuple[str, tuple[str, ...]]]:
    for name in dict.fromkeys(name for run in runs for name in run):
        texts = tuple(run.get(name, "") for run in runs)
        if any(texts):
            yield name, texts


def _revision(record: Record, part: str) -> Mapping[str, Any]:
    return dict(sorted(_mapping(_mapping(_mapping(record.lock).get("revision")).get(part)).items()))


def _deployment(record: Record) -> Iterator[tuple[str, str]]:
    """Read the lock. It comes from a file, so every level may be missing."""
    lock = _mapping(record.lock)
    revision, nodes = _mapping(lock.get("revision")), _mapping(lock.get("nodes"))
    yield "model revision", _text(revision.get("model_revision"))
    yield "recipe", _text(revision.get("recipe"))
    yield "topology", " ".join(filter(None, (_text(revision.get("topology")), _text(revision.get("executor")))))
    kind = "emulated" if record.lab else "GB10"
    yield "hardware", _hardware({name: _mapping(node) for name, node in nodes.items()}, kind)
    image = _mapping(revision.get("image"))
    yield "image", " ".join(filter(None, (_text(image.get("reference")), _text(image.get("fingerprint"))[:12])))
    for name in ("driver", "kernel"):
        yield name, ", ".join(sorted({_text(_mapping(node).get(name)) for node in nodes.values()} - {""}))


def _hardware(nodes: Mapping[str, Mapping[str, Any]], kind: str) -> str:
    if not nodes:
        return ""
    named = ", ".join(f"{name} ({_text(node.get('role')) or 'unknown role'})" for name, node in nodes.items())
    return f"{len(nodes)} {kind} node{'s' if len(nodes) > 1 else ''}: {named}"


def _run(record: Record) -> Iterator[tuple[str, str]]:
    yield "environment", " ".join(f"{name}={_text(value)}" for name, value in _revision(record, "env").items())
    yield "suite", f"{record.suite.title or record.suite.id} ({record.suite.runs} runs of each point)"
    yield "text of the prompts", record.text
    others = {name: version for name, version in record.versions.items() if name != "text"}
    yield "versions", ", ".join(f"{name} {version}" for name, version in others.items())
    yield "date", f"{record.started}, {record.seconds:.0f} s"
    yield "endpoint", record.url
    yield "run", record.id


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _text(value: Any) -> str:
    if isinstance(value, (Mapping, list, tuple, bool)):
        return json.dumps(value)
    return "" if value is None else str(value)
