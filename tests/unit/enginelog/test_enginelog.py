"""What an engine's log says: how far its boot is, what ended it, and on which kernels an MXFP4 model runs.

In an input `@NAME` is a log of `fixtures`, real excerpts.
"""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from sparkops.core.diagnosis import diagnose, most_telling
from sparkops.core.enginelog import MARKS, mxfp4_backend, progress, since_meeting
from sparkops.core.known_ends import KNOWN
from support import golden

HERE = Path(__file__).parent
_ESCAPED = re.compile(r"\\(?:r|x([0-9a-f]{2}))")


def log(block: str) -> list[str]:
    """The lines of a block; `\\r` and `\\x1b` and the like stand for the characters."""
    lines: list[str] = []
    for line in block.split("\n"):
        file = HERE / "fixtures" / f"{line[1:]}.log"
        lines += file.read_text(encoding="utf-8").splitlines() if line.startswith("@") else [line]
    return [_ESCAPED.sub(lambda found: chr(int(found[1] or "d", 16)), line) for line in lines]


def phases(lines: list[str]) -> str:
    """Each phase that is shown as the log grows."""
    seen = dict.fromkeys(progress(lines[:end]) for end in range(1, len(lines) + 1))
    return "\n".join(f"{one.percent:3} % {one.name}: {one.text}" if one else "nothing" for one in seen)


def cause(lines: list[str]) -> str:
    found = diagnose(lines)
    return f"{found.id}: {found.cause}\n  do: {found.hint}\n  line: {found.line}" if found else "nothing"


def backend(lines: list[str]) -> str:
    return str(mxfp4_backend(lines))


@pytest.mark.parametrize("read", [phases, cause, backend], ids=lambda read: read.__name__)
def test_a_log_is_read_as_its_file_says(read: Callable[[list[str]], str]) -> None:
    golden.hold_blocks(HERE / f"{read.__name__}.txt", lambda block: read(log(block)))


@pytest.mark.skipif(golden.WRITE, reason="the files are being written")
def test_every_known_cause_and_phase_has_its_example() -> None:
    causes, told = ((HERE / f"{name}.txt").read_text(encoding="utf-8") for name in ("cause", "phases"))
    assert [name for name in KNOWN if f"\n    {name}: " not in causes] == []
    assert [mark.name for mark in MARKS if f"% {mark.name}: " not in told] == []
    for mark in MARKS:
        mark.text.format(*["x"] * re.compile(mark.pattern).groups)


def test_a_cause_is_trusted_before_an_error_and_that_before_what_only_waited() -> None:
    waited = "sparkops: joining the Ray head at 10.0.0.1:6379"
    error = "ERROR ValueError: no\nEngine core initialization failed."
    known = "torch.distributed.DistBackendError: NCCL error in: NCCLUtils.cpp:77, remote process exited"
    for logs, chosen in {(waited, error, known): 2, ("", known, waited, known): 1, (waited, error): 1}.items():
        assert most_telling(logs) == (chosen, diagnose(logs[chosen].splitlines()))
    assert most_telling(["nothing known"]) is None


def test_a_log_that_blames_another_node_explains_less_than_that_node() -> None:
    blames = "RuntimeError: gloo/transport/tcp/pair.cc: Connection reset by peer"
    gone = "sparkops: rank 1 at 10.0.0.2 is gone, so this rank ends too"
    own = "ERROR ValueError: no such kernel\nEngine core initialization failed."
    for logs, chosen in {(blames, own): 1, (gone, own): 1, (gone, blames): 1}.items():
        assert most_telling(logs) == (chosen, diagnose(logs[chosen].splitlines()))


def test_what_a_rank_said_before_the_last_meeting_explains_nothing() -> None:
    met = "sparkops: all 2 ranks are here\n"
    assert since_meeting(f"CUDA out of memory\n{met}started\n{met}ended\nwaits\n") == ["ended", "waits"]
    assert since_meeting("sparkops: 1 of 2 ranks are here; waiting for rank 1 at 10.0.0.2\n") != []
