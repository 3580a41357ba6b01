"""What a lock holds and what it holds against what runs now."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from sparkops.core import lockfile
from sparkops.core.lockfile import Lock, NodeLock
from sparkops.errors import UsageError
from sparkops.located import parse

NODE = NodeLock("head", "f" * 64, "abc", "580.142", "6.17.0", 1)
REVISION: dict[str, Any] = {
    "schema": 1,
    "recipe": "r",
    "model": "m",
    "topology": "cluster",
    "args": {"seed": 1, "hf-overrides": {"a": [1, 2]}},
    "env": {"A": "1"},
}
LOCK = Lock("d", "0" * 64, "1.0", REVISION, {"a": NODE, "b": replace(NODE, role="worker")}, "2026-11-20")


def changed(now: Lock, *ignore: str) -> list[str]:
    return [f"{one.node}{one.key}" for one in lockfile.changes(LOCK, now, frozenset(ignore))]


def test_what_is_written_is_read_back() -> None:
    assert lockfile.read(parse(json.dumps(LOCK.document).encode(), "f.json")) == LOCK


def test_what_did_not_change_is_not_told() -> None:
    assert changed(replace(LOCK, locked="2027-01-01", hash="1" * 64)) == []


@pytest.mark.parametrize(
    ("now", "keys"),
    [
        (replace(LOCK, revision={**REVISION, "args": {"seed": 2}}), ["--hf-overrides", "--seed"]),
        (replace(LOCK, revision={**REVISION, "env": {"B": "1"}}), ["A", "B"]),
        (replace(LOCK, revision={**REVISION, "topology": "solo"}), ["topology"]),
        (replace(LOCK, nodes={"a": NODE}), ["bpart"]),
        (replace(LOCK, nodes={**LOCK.nodes, "a": replace(NODE, driver="590")}), ["adriver"]),
        (replace(LOCK, nodes={**LOCK.nodes, "a": replace(NODE, kernel=None)}), ["akernel"]),
        (replace(LOCK, nodes={**LOCK.nodes, "a": replace(NODE, image="0")}), ["aimage"]),
        (replace(LOCK, nodes={**LOCK.nodes, "a": replace(NODE, model="def")}), ["amodel"]),
        (replace(LOCK, nodes={**LOCK.nodes, "a": replace(NODE, role="worker")}), ["arole"]),
        (replace(LOCK, sparkops="2.0"), ["sparkops"]),
    ],
)
def test_each_thing_that_makes_a_number_comparable_is_held_to(now: Lock, keys: list[str]) -> None:
    assert changed(now) == keys


def test_what_may_differ_is_left_out() -> None:
    now = replace(LOCK, sparkops="2.0", nodes={**LOCK.nodes, "a": replace(NODE, driver="590")})
    assert changed(now, "sparkops", "driver") == []


def test_what_a_lock_did_not_know_is_held_against_nobody() -> None:
    old = replace(LOCK, nodes={"a": replace(NODE, model=None)})
    assert lockfile.changes(old, replace(LOCK, nodes={"a": NODE})) == ()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{}", "f.json:1: sparkops_lock: is missing"),
        ('{"sparkops_lock": 99}', "sparkops_lock: is 99; this sparkops reads up to 1"),
        ('{"sparkops_lock": 1}', "deployment: is required"),
        ('{"sparkops_lock": "x"}', "must be a whole number"),
        ("[1]", "must be a mapping, not a list"),
        ("not json: [", "f.json:2: did not find"),
        (json.dumps({**LOCK.document, "nodes": {"a": {}}}), "nodes.a.role: is required"),
        (json.dumps({**LOCK.document, "nodes": {"a": {"role": "x", "spec": "y"}}}), "nodes.a.spec: must be a whole"),
        (json.dumps({**LOCK.document, "revision": 3}), "revision: must be a mapping"),
    ],
)
def test_what_is_no_lock_is_one_line_with_its_place(content: str, said: str) -> None:
    with pytest.raises(UsageError) as error:
        lockfile.read(parse(content.encode(), "f.json"))
    assert said in str(error.value)
    assert "\n" not in str(error.value)
