"""Cases are data: a capture `cases/NAME.facts` and what must be read from it in `cases/NAME.json`.

A JSON case names the capture it starts from, the probes that differ (`"NAME": [EXIT, TEXT or LINES]`), and what to
expect: a dotted path into `Facts` with its value, or `{"unread": "part of the reason"}`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from sparkops.core.facts import Facts, Unread, parse
from sparkops.core.facts.plain import plain
from sparkops.core.facts.raw import read, write

CASES = Path(__file__).parent / "cases"


@dataclass(frozen=True)
class Case:
    name: str
    raw: str
    expect: Mapping[str, Any]

    @property
    def facts(self) -> Facts:
        return parse(self.raw)

    @property
    def differences(self) -> list[str]:
        """What was read otherwise than expected."""
        facts = self.facts
        found = ((path, expected, look(facts, path)) for path, expected in self.expect.items())
        return [
            f"{path}: expected {expected!r}, read {got!r}"
            for path, expected, got in found
            if not matches(got, expected)
        ]


def load(name: str) -> Case:
    """A case by its name, its changed probes already put into the capture."""
    data = json.loads((CASES / f"{name}.json").read_text())
    raw = (CASES / f"{data['capture']}.facts").read_text()
    changed = {probe: (code, _text(said)) for probe, (code, said) in data.get("probes", {}).items()}
    if changed:
        kept = {probe.name: (probe.exit, probe.text) for probe in read(raw).values() if probe.name != "end"}
        raw = write(kept | changed)
    return Case(name, raw, data["expect"])


def look(facts: Facts, path: str) -> Any:
    """What stands at a dotted path: attributes, keys (which may hold dots themselves), positions."""
    first, _, rest = path.partition(".")
    value: Any = facts.find_fabric() if first == "fabric" else facts
    rest = rest if first == "fabric" else path
    while rest:
        if isinstance(value, Mapping):
            key = next((key for key in sorted(value, key=len, reverse=True) if f"{rest}.".startswith(f"{key}.")), None)
            if key is None:
                return None
            value, rest = value[key], rest[len(key) + 1 :]
            continue
        head, _, rest = rest.partition(".")
        if isinstance(value, tuple):
            value = value[int(head)] if int(head) < len(value) else None
        else:
            value = getattr(value, head)
    return value


def matches(value: Any, expected: Any) -> bool:
    if isinstance(expected, dict) and set(expected) == {"unread"}:
        return isinstance(value, Unread) and expected["unread"] in value.reason
    return bool(plain(value) == expected)


def _text(said: str | list[str]) -> str:
    return said if isinstance(said, str) else "\n".join(said)


@pytest.fixture(params=sorted(path.stem for path in CASES.glob("*.json")))
def case(request: pytest.FixtureRequest) -> Case:
    """Every case there is."""
    return load(request.param)


@pytest.fixture(params=sorted(path.stem for path in CASES.glob("*.facts")))
def capture(request: pytest.FixtureRequest) -> str:
    """Every whole capture there is."""
    return (CASES / f"{request.param}.facts").read_text()


@pytest.fixture(name="load")
def load_case() -> Callable[[str], Case]:
    return load
