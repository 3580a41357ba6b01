"""What NVIDIA measured with one of its recipes (`performance.yaml` beside it), as a reference table."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from sparkops.core import schema
from sparkops.core.formats import parts
from sparkops.core.formats.values import seen
from sparkops.core.recipe import PLACED, Recipe
from sparkops.core.reference import Cell, Column, ReferenceTable
from sparkops.core.schema import Located

FILE = "performance.yaml"
SOURCE = f"NVIDIA, {FILE} beside the recipe"
OTHERS = "NVIDIA's values, not measured by sparkops."
CHANGED = "The recipe has changed since: recipe_sha256 is not its checksum."
SEVERAL = "Rates of several requests at once are means over requests, so they are not compared with own runs."
WORKLOAD = {
    "concurrency": Column("concurrency", "requests", "concurrency"),
    "input_tokens": Column("prompt", "tokens"),
    "output_tokens": Column("answer", "tokens"),
}
RESULTS = {
    "prefill_tokens_per_second_mean": Column("prefill", "tokens/s", "prefill"),
    "decode_tokens_per_second_mean": Column("decode", "tokens/s", "decode"),
    "e2e_latency_ms_mean": Column("whole request", "ms", "e2e"),
}
"""The columns of the keys below `workload` and `results` (schema_version 1 and 2, October 2026)."""

RATES = ("prefill", "decode")
"""Means over requests; only with one request at a time are they the rates of all requests, as our metrics are."""


def tables(document: Located, recipe: Recipe, text: bytes) -> tuple[ReferenceTable, ...]:
    """The profiles of a file as one table; `text` is the recipe's own file, whose checksum the results name.

    Raises UsageError with file and line if the file has another form.
    """
    entries = parts.mapping(document)
    given = schema.listed(entries["profiles"], "profiles") if "profiles" in entries else ()
    profiles = [parts.mapping(one, f"profiles[{index}]") for index, one in enumerate(given)]
    if not profiles:
        schema.fail(document, "profiles", "is required: a list of measured workloads")
    system = parts.inner(entries, "system")
    current = parts.text(entries, "recipe_sha256") in checksums(text)
    usual = _said(entries, "launch_id") in ("", "default")
    alone = all(parts.count(parts.inner(one, "workload"), "concurrency") == 1 for one in profiles)
    columns = dict(_columns(profiles, alone, _said(parts.inner(entries, "harness"), "name")))
    table = ReferenceTable(
        id="nvidia-performance",
        title=f"measured by NVIDIA on {_said(system, 'label')}",
        source=SOURCE,
        date=_said(entries, "measured_at"),
        topology="solo" if parts.count(system, "accelerator_count") == 1 else "cluster",
        setup="; ".join(_setup(entries, profiles)),
        reading=" ".join((OTHERS, *(() if current else (CHANGED,)), *(() if alone else (SEVERAL,)))),
        args=_flags(recipe) if current and usual else {},
        columns=tuple(columns.values()),
        rows=tuple(tuple(_cell(one, key) for key in columns) for one in profiles),
    )
    return (table,)


def _flags(recipe: Recipe) -> dict[str, Any]:
    """The flags that were measured, less those that the placement decides."""
    sizes = [name for name, one in recipe.args.items() if name.endswith("-parallel-size") and one.value == 1]
    return {name: one.value for name, one in recipe.args.items() if name not in (*PLACED, *sizes)}


def checksums(text: bytes) -> tuple[str, ...]:
    """SHA-256 of a recipe's file, and of the file without the comment that opens it.

    The checksums of NVIDIA's files are of the second: the licence is added when a file is published.
    """
    lines = text.splitlines(keepends=True)
    start = next((index for index, line in enumerate(lines) if not line.startswith(b"#")), len(lines))
    body = b"".join(lines[start:]).removeprefix(b"\n")
    return tuple(hashlib.sha256(part).hexdigest() for part in (text, body))


def _columns(profiles: list[parts.Entries], alone: bool, harness: str) -> Iterator[tuple[str, Column]]:
    """By key, the columns for which any profile has a value; an unknown result has its key as its name."""
    yield "id", Column("profile")
    yield from WORKLOAD.items()
    for key in dict.fromkeys(key for one in profiles for key in parts.inner(one, "results")):
        column = RESULTS.get(key, Column(schema.one_line(key)))
        by = {_said(parts.inner(one, "result_harness"), key) for one in profiles} - {"", harness}
        if by:
            yield key, Column(f"{column.name}, by {', '.join(sorted(by))}", column.unit)
        else:
            yield key, column if alone or column.metric not in RATES else replace(column, metric="")


def _cell(profile: parts.Entries, key: str) -> Cell:
    """A value of a profile; only numbers and texts are shown."""
    found = {**parts.inner(profile, "workload"), **parts.inner(profile, "results"), "id": profile.get("id")}.get(key)
    value = None if found is None else seen(found)
    if value is None or (isinstance(value, (int, float)) and not isinstance(value, bool)):
        return value
    return schema.one_line(str(value))


def _setup(entries: parts.Entries, profiles: list[parts.Entries]) -> Iterator[str]:
    """With what it was measured, each part that the file names."""
    system, software = parts.inner(entries, "system"), parts.inner(entries, "software")
    named: tuple[tuple[str, Mapping[str, Located], tuple[str, ...]], ...] = (
        ("{}", parts.inner(entries, "harness"), ("name", "version")),
        ("driver {}", system, ("driver_version",)),
        ("CUDA {}", system, ("cuda_version",)),
        ("{}", system, ("os_version",)),
        ("vLLM {}", software, ("backend_version",)),
        ("model revision {}", software, ("model_revision",)),
        ("image {}", software, ("runtime_revision",)),
        *(("{}", parts.inner(one, "workload"), ("dataset", "profile")) for one in profiles),
    )
    if (launch := _said(entries, "launch_id")) not in ("", "default"):
        yield f"launch {launch}"
    yield from dict.fromkeys(form.format(said) for form, part, keys in named if (said := _said(part, *keys)))


def _said(entries: parts.Entries, *keys: str) -> str:
    """The texts of these keys on one line."""
    return schema.one_line(" ".join(found for key in keys if (found := parts.text(entries, key))))
