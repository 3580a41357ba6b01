"""For all tests: signals as a person's shell has them, and which tests are slow.

Whole labs take minutes: their tests are marked `slow`, run by `make test` and not again on every Python's wheel.
"""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

HERE = Path(__file__).parent
LABS = (HERE / "embedded", HERE / "lab")

# `nohup` and background jobs ignore these, and so would every program that a test starts and then interrupts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if any(folder in item.path.parents for folder in LABS):
            item.add_marker(pytest.mark.slow)
