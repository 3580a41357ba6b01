"""Captures of nodes (`tests/unit/facts/cases`): their probes, as any tier may put them before sparkops."""

from __future__ import annotations

import json

from sparkops.core.facts.raw import END, read, write
from support.paths import CAPTURES

Probes = dict[str, tuple[int, str]]


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
