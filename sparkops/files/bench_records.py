"""Benchmarks measured from this machine, by id."""

import contextlib
import hashlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from sparkops.core.bench.record import NotARecord, Record, load
from sparkops.core.schema import did_you_mean, one_line
from sparkops.errors import UsageError
from sparkops.files import state

KEPT = "bench"


def names() -> list[str]:
    """All ids, oldest first."""
    return sorted(path.stem for path in state.folder(KEPT).glob("*.json"))


def record(name: str) -> Record:
    """A benchmark by its id, the beginning of it, or `last`; raises UsageError."""
    known = names()
    if not known:
        raise UsageError(f"{name}: this machine has no benchmark results yet", hint="measure one: `sparkops bench run`")
    exact = known[-1:] if name == "last" else [one for one in known if one == name]
    found = exact or [one for one in known if one.startswith(name)]
    if len(found) != 1:
        what = "several ids begin with this text" if found else f"no such benchmark{did_you_mean(name, known)}"
        raise UsageError(f"{name}: {what}", hint="list the ids: `sparkops bench list`")
    try:
        return replace(load(state.document(KEPT, found[0])), id=found[0])
    except (NotARecord, state.DamagedFile) as error:
        hint = "restore the file from a copy, or remove it"
        raise UsageError(one_line(f"{state.folder(KEPT) / found[0]}.json: {error}"), hint=hint) from None


def since(began: str) -> Iterator[Record]:
    """Readable benchmarks from the id `began` on, newest first."""
    for name in reversed(names()):
        if name < began:
            return
        with contextlib.suppress(UsageError):
            yield record(name)


def keep(one: Record) -> None:
    """Write a benchmark's file completely or not at all; raises UsageError."""
    state.write_json(KEPT, one.id, one.document())


def keep_tokenizer(text: str) -> Path:
    """Keep a model's tokenizer.json under the hash of its content; raises UsageError."""
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    kept = state.folder("tokenizers") / digest / "tokenizer.json"
    return kept if kept.exists() else state.write(f"tokenizers/{digest}", kept.name, text)
