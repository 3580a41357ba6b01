"""All that is read of each capture, to the letter, and what each case and each odd answer reads otherwise.

A case is a JSON file: the capture that it starts from and the probes that differ (`"NAME": [EXIT, TEXT or LINES]`).
"""

import json
from pathlib import Path

from sparkops.core.facts import PROBES, Facts, parse
from sparkops.core.facts.raw import END, read, write
from support import golden
from support.captures import changes_of, leaves, parts, raw_of, whole
from support.paths import CAPTURES

ONLY_WHEN_THERE = {"docker-ours", "docker-strangers", "docker-logs", "images", "model", "models"}
CASES = sorted(path.stem for path in CAPTURES.glob("*.json"))


def test_every_capture_is_read_as_its_file_says(capture: Path) -> None:
    told = json.dumps(whole(parse(capture.read_text(encoding="utf-8"))), indent=1, sort_keys=True)
    golden.hold(capture.with_suffix(".read"), f"{told}\n")


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
