"""`node/relay.sh` alone: a stream through three nodes in a row, which is cut, or which nobody takes."""

import shutil
from collections.abc import Sequence

import pytest

from support.relays import COPY, HOP, Place, row_of
from support.shells import NodeShell

NEVER = 10_000
"""Naps that nothing here takes."""


@pytest.fixture
def rows(nodes: list[NodeShell]) -> list[list[Place]]:
    """What a node counts as a second passes in a twentieth of it, but only once somebody came where he is awaited."""
    nap = shutil.which("sleep")
    came = f'[ -z "${{AWAITED:-}}" ] || [ -e "$HOME/.local/state/sparkops/relay/{COPY}/taken" ]'
    for node in nodes:
        node.tool("sleep", f"until {came}; do {nap} 0.02; done; exec {nap} 0.05")
    return [row_of(node) for node in nodes]


def copied(row: Sequence[Place], *, stall: Sequence[int] = (NEVER, NEVER, NEVER), sender: bool = True) -> list[int]:
    """The exit codes in the order of the row. A place that takes nothing for its `stall` seconds is ended."""
    for place in row[1:]:
        place.node.extra["AWAITED"] = "yes" if sender else ""
    going = [row[2].start("receive", stall[2]), row[1].start("receive", stall[1], *HOP)]
    going += [row[0].start("send", stall[0], "an image", *HOP)] if sender else []
    for process in going:
        process.communicate(timeout=300)
    assert [place.left() for place in row[0 if sender else 1 :]] == [[]] * len(going)
    return [process.returncode for process in reversed(going)]


def test_both_load_what_passes_and_nothing_is_left(rows: list[list[Place]]) -> None:
    for row in rows:
        assert copied(row) == [0, 0, 0]
        sent = (row[0].home / "image").read_bytes() + b"END\n"
        assert [(place.home / "loaded").read_bytes() == sent for place in row[1:]] == [True, True]
        assert [place.keys.read_text() for place in row] == ["ssh-ed25519 AAAA a person\n"] * 3


def test_half_a_stream_is_no_image_anywhere(rows: list[list[Place]]) -> None:
    for row in rows:
        row[0].node.extra["SAVE_FAILS"] = "1"
        assert copied(row) == [1, 1, 1]
        assert [place.has("loaded") or place.has("half") for place in row] == [False] * 3


@pytest.mark.parametrize("hangs", [1, 2])
def test_one_that_hangs_is_ended_and_does_not_keep_the_others_from_their_image(
    rows: list[list[Place]], hangs: int
) -> None:
    for row in rows:
        row[hangs].node.extra["LOAD_HANGS"] = "1"
        stall = [NEVER, NEVER, NEVER]
        stall[hangs] = 40
        assert copied(row, stall=stall)[hangs] != 0
        assert [place.has("loaded") for place in row[1:]] == [hangs != 1, hangs != 2]


def test_a_receiver_to_whom_nobody_comes_ends_by_itself(rows: list[list[Place]]) -> None:
    for row in rows:
        assert 0 not in copied(row, sender=False, stall=(1, 1, 1))
