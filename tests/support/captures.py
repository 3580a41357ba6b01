"""Captures of nodes (`tests/unit/facts/cases`): their probes, as any tier may put them before sparkops."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import is_dataclass
from functools import cached_property
from typing import Any

from sparkops.core.facts import Facts
from sparkops.core.facts.raw import END, read, write
from sparkops.core.facts.reading import plain
from support.paths import CAPTURES

Probes = dict[str, tuple[int, str]]
SHOWN_ELSEWHERE = ("unread", "ports", "memory")


def parts(raw: str) -> Probes:
    """Exit code and text by probe."""
    return {probe.name: (probe.exit, probe.text) for probe in read(raw).values() if probe.name != END}


def probes_of(name: str) -> Probes:
    """Of a capture, or of a case that changes one."""
    case = CAPTURES / f"{name}.json"
    data = json.loads(case.read_text()) if case.exists() else {"capture": name}
    return parts((CAPTURES / f"{data['capture']}.facts").read_text()) | changes_of(name)


def raw_of(name: str) -> str:
    """The whole text of one; that of a capture as it was taken."""
    capture = CAPTURES / f"{name}.facts"
    return write(probes_of(name)) if changes_of(name) or not capture.exists() else capture.read_text(encoding="utf-8")


def changes_of(name: str) -> Probes:
    """What a case changes in its capture."""
    case = CAPTURES / f"{name}.json"
    changed = json.loads(case.read_text()).get("probes", {}) if case.exists() else {}
    return {
        probe: (code, said if isinstance(said, str) else "\n".join(said)) for probe, (code, said) in changed.items()
    }


def whole(value: Any) -> Any:
    """A value as plain data, with what its properties make of it."""
    if isinstance(value, Facts):
        return {**of_fields(value), "fabric": whole(value.find_link())}
    if is_dataclass(value) and not hasattr(value, "reason"):
        return of_fields(value)
    if isinstance(value, Mapping):
        return {str(key): whole(item) for key, item in value.items()}
    return [whole(item) for item in value] if isinstance(value, tuple | list) else plain(value)


def of_fields(value: Any) -> dict[str, Any]:
    made = {name: one for name, one in vars(type(value)).items() if isinstance(one, property | cached_property)}
    names = [*value.__dataclass_fields__, *(name for name in made if name not in SHOWN_ELSEWHERE)]
    return {name: whole(getattr(value, name)) for name in names}


def leaves(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    if not items:
        yield path, value
    for key, item in items:
        yield from leaves(f"{path}.{key}".lstrip("."), item)
