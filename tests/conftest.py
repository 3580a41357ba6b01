"""For all tests: signals as a person's shell has them, which tests are slow, and a patience for busy machines.

Whole labs take minutes, shell scripts are the same under every Python, and so is the text of the modules: their tests
are marked `slow`, run by `make test` and not again on every Python's wheel. Tests of real processes have one second
try, which the summary names (docs/decisions/0011).
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

HERE = Path(__file__).parent
SLOW = {
    HERE / "embedded",
    HERE / "lab",
    HERE / "node",
    HERE / "facts" / "test_facts_script.py",
    HERE / "models" / "test_models_in_the_lab.py",
    HERE / "remote" / "test_job_script.py",
    HERE / "remote" / "test_lock_script.py",
    HERE / "remote" / "test_run_script.py",
    HERE / "test_layers.py",
}

REAL = SLOW - {HERE / "test_layers.py"} | {HERE / "acceptance", HERE / "remote"}
WAITING = {HERE / "node", HERE / "remote"}
"""Minutes of sleep and little work: beside the labs, which are work, and not alone at the end."""

settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")

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


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The thousands that take no time come last: they keep every worker busy to the end."""
    for item in items:
        places = {item.path, *item.path.parents}
        if places & SLOW:
            item.add_marker(pytest.mark.slow)
        if places & REAL:
            item.add_marker(pytest.mark.flaky(reruns=1))
    items.sort(key=_turn)


def _turn(item: pytest.Item) -> tuple[bool, bool]:
    return "slow" not in item.keywords, not WAITING & {*item.path.parents}
