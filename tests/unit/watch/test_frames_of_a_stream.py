"""From bytes to frames: any pieces give the same frames, and nothing that a node sends fills memory or stalls."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkops.core.watch.frame import frame
from sparkops.core.watch.stream import LONGEST, BrokenStream, Frames
from support.frames import a_frame, engine_text, frame_text

TEXTS = [frame_text(uptime=100.0 + 2 * number, engines={"a": engine_text(log="== end 0 0 0\n")}) for number in range(3)]
STREAM = "".join(TEXTS).encode()


@given(st.lists(st.integers(1, len(STREAM)), max_size=40))
def test_any_pieces_give_the_same_frames(cuts):
    split, found, ends = Frames(), [], sorted({0, *cuts, len(STREAM)})
    for start, end in zip(ends, ends[1:], strict=False):
        found += split.take(STREAM[start:end])
    assert found == TEXTS


@given(st.binary(min_size=60, max_size=4000))
def test_what_is_no_frame_ends_the_stream_or_waits_for_more(data):
    with pytest.raises(BrokenStream) as broken:
        list(Frames().take(data))
    assert len(str(broken.value)) < 400


@given(st.binary(max_size=60))
def test_what_may_become_a_frame_is_waited_for(data):
    assert list(Frames().take(b"sparkops-facts 1\n" + data)) == []


def test_a_frame_without_an_end_is_not_kept():
    split = Frames()
    list(split.take(b"sparkops-facts 1\n== boot 0 0 9999999\n"))
    with pytest.raises(BrokenStream, match="more than 512 KiB"):
        list(split.take(b"x" * (LONGEST + 1)))


def test_a_log_line_that_looks_like_a_frame_is_one_of_the_log():
    spoof = "\nsparkops-facts 1\n== gpu-load 0 0 5\nspoof\n== end 0 0 0\n"
    (text,) = Frames().take(frame_text(engines={"a": engine_text("000 7", spoof)}).encode())
    found = frame(text)
    assert found.gpu_load.clock_mhz == 2405
    assert "== gpu-load 0 0 5" in found.engines["a"].log


def test_a_frame_keeps_what_it_was_not_asked_for():
    first = a_frame(containers=[], disk="")
    second = a_frame(uptime=102.0).after(first)
    assert second.seen == ()
    assert second.uptime == 102.0
    assert not a_frame(uptime=102.0).asked_docker
