"""All that is read of each capture, to the letter, and what each case reads otherwise."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from sparkops.core.facts import Facts, parse
from sparkops.core.facts.plain import plain
from support import golden
from support.paths import CAPTURES


def test_every_capture_is_read_as_its_file_says() -> None:
    for capture in sorted(CAPTURES.glob("*.facts")):
        whole = read(parse(capture.read_text(encoding="utf-8")))
        golden.hold(capture.with_suffix(".read"), json.dumps(whole, indent=1, sort_keys=True) + "\n")


def test_every_case_differs_from_its_capture_in_what_its_file_says(load: Callable[[str], Any]) -> None:
    told = {}
    for path in sorted(CAPTURES.glob("*.json")):
        capture = CAPTURES / f"{json.loads(path.read_text(encoding='utf-8'))['capture']}.facts"
        usual = read(parse(capture.read_text(encoding="utf-8")))
        told[path.stem] = {name: value for name, value in read(load(path.stem).facts).items() if value != usual[name]}
    golden.hold(CAPTURES / "cases.read", json.dumps(told, indent=1, sort_keys=True) + "\n")


def read(facts: Facts) -> dict[str, Any]:
    return {**plain(facts), "fabric": plain(facts.find_fabric())}
