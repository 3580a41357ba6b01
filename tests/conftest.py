"""For all tests: signals as a person's shell has them, the same examples on every run, a state of our own.

A test of `unit` or `world` that leaves a process behind fails: it belongs to `embedded` (CONTRIBUTING, "Tests").
"""

import ctypes
import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from support.paths import TESTS
from support.state import pytest_runtest_makereport  # noqa: F401 - a hook: what the nodes hold when a test fails

WITHOUT_PROCESSES = (TESTS / "unit", TESTS / "world")
PR_SET_CHILD_SUBREAPER = 36
DYING = 5.0
"""Seconds in which a process that was killed is gone, however busy the machine is."""

# The same examples on every run, so that no run fails by chance; HYPOTHESIS_PROFILE=wide looks for new ones.
settings.register_profile("steady", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("wide", settings.get_profile("steady"), derandomize=False, max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))

# `nohup` and background jobs ignore these, and so would every program that a test starts and then interrupts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture(scope="session", autouse=True)
def own_state(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What whoever runs the tests has kept, such as flag tables of images, decides nothing here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


@pytest.fixture(autouse=True)
def nothing_is_left_running(request: pytest.FixtureRequest) -> Iterator[None]:
    """No process outlives a test that is said to need none."""
    if sys.platform != "linux" or not any(place in request.path.parents for place in WITHOUT_PROCESSES):
        yield
        return
    before = _children()
    _adopt_orphans(True)
    yield
    left = _living(before)
    _adopt_orphans(False)
    assert sorted(left) == [], "processes outlive this test: it belongs to tests/embedded"


def _living(before: set[str]) -> set[str]:
    """The children since then that go on; one that was killed may take a moment to be gone."""
    deadline = time.monotonic() + DYING
    while (left := _children() - before) and time.monotonic() < deadline:
        time.sleep(0.02)
    return left


def _adopt_orphans(wanted: bool) -> None:
    """Whether orphans become children of this process, where they are seen."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, int(wanted))


def _children() -> set[str]:
    """Numbers and command lines of the living children of this process, whichever thread started them."""
    found = set()
    for thread in Path("/proc/self/task").glob("*"):
        for number in _text(thread / "children").split():
            words = _text(Path("/proc", number, "cmdline")).replace("\0", " ").strip()
            found |= {f"{number} {words}"} if words else set()  # a zombie has no command line
    return found


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""
