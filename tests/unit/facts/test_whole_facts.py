"""All that is read of each capture, to the letter, and what each case and each odd answer reads otherwise.

A case is a JSON file: the capture that it starts from and the probes that differ (`"NAME": [EXIT, TEXT or LINES]`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import is_dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from sparkops.core.facts import PROBES, Facts, parse
from sparkops.core.facts.plain import plain
from sparkops.core.facts.raw import END, read, write
from support import golden
from support.captures import changes_of, parts, raw_of
from support.paths import CAPTURES

ONLY_WHEN_THERE = {"docker-ours", "docker-strangers", "docker-logs", "images", "model"}
SHOWN_ALREADY = ("unread", "ports", "memory", "gpu")
CASES = sorted(path.stem for path in CAPTURES.glob("*.json"))


def test_every_capture_is_read_as_its_file_says(capture: Path) -> None:
    told = json.dumps(whole(parse(capture.read_text(encoding="utf-8"))), indent=1, sort_keys=True)
    golden.hold(capture.with_suffix(".read"), f"{told}\n")


def whole(value: Any) -> Any:
    """A value as plain data, with what its properties make of it."""
    if isinstance(value, Facts):
        return {**of_fields(value), "fabric": whole(value.find_fabric())}
    if is_dataclass(value) and not hasattr(value, "reason"):
        return of_fields(value)
    if isinstance(value, Mapping):
        return {str(key): whole(item) for key, item in value.items()}
    return [whole(item) for item in value] if isinstance(value, tuple | list) else plain(value)


def of_fields(value: Any) -> dict[str, Any]:
    made = {name: one for name, one in vars(type(value)).items() if isinstance(one, property | cached_property)}
    names = [*value.__dataclass_fields__, *(name for name in made if name not in SHOWN_ALREADY)]
    return {name: whole(getattr(value, name)) for name in names}


def test_every_case_differs_from_its_capture_in_what_its_file_says() -> None:
    told = ""
    for name in CASES:
        case = json.loads((CAPTURES / f"{name}.json").read_text(encoding="utf-8"))
        if changes_of(name):
            usual = parse((CAPTURES / f"{case['capture']}.facts").read_text(encoding="utf-8"))
            told += (
                f"# {name}: {case.get('title', '')} ({case['capture']})\n{differences(usual, parse(raw_of(name)))}\n"
            )
    golden.hold(CAPTURES / "cases.read", told)


def test_every_odd_answer_is_read_as_its_file_says() -> None:
    """`| PROBE EXIT` and the lines of the answer of a node that says nothing else."""

    def outcome(block: str) -> str:
        first, _, text = block.partition("\n")
        probe, code = first.split()
        return differences(parse(write({})), parse(write({probe: (int(code), text.replace("\\t", "\t"))})))

    golden.hold_blocks(CAPTURES / "odd.txt", outcome)


def differences(usual: Facts, found: Facts) -> str:
    """The leaves that are not as they usually are."""
    before, after = dict(leaves("", whole(usual))), dict(leaves("", whole(found)))
    lines = [f"{path} = {json.dumps(value)}" for path, value in after.items() if before.get(path, before) != value]
    lines += [f"{path} is gone" for path in before if path not in after]
    return "".join(f"{line}\n" for line in lines)


def leaves(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    if not items:
        yield path, value
    for key, item in items:
        yield from leaves(f"{path}.{key}".lstrip("."), item)


def test_a_capture_holds_every_probe_that_is_always_asked_and_is_what_writing_it_again_gives(capture: Path) -> None:
    raw = capture.read_text(encoding="utf-8")
    assert set(PROBES) - ONLY_WHEN_THERE <= set(read(raw)) - {END}
    assert write(parts(raw)) == raw


def test_equal_images_have_one_fingerprint_whatever_stores_them() -> None:
    found = [parse(raw_of(f"image-{store}")).image("vllm-node-mxfp4") for store in ("overlay2", "containerd")]
    assert len({image.id for image in found if image}) == 2
    assert len({image.fingerprint for image in found if image}) == 1


def test_a_healthy_node_leaves_nothing_unread_but_what_was_not_asked() -> None:
    assert set(parse(raw_of("healthy-fe")).unread) == {name.replace("-", "_") for name in ONLY_WHEN_THERE}
