"""Engines that die, and labs."""

from collections.abc import Callable
from pathlib import Path

import pytest

from sparkops.testing import BootRule, EngineBoot
from support.world import Lab


@pytest.fixture
def crashing() -> BootRule:
    """Engines started with `--bad` die."""
    return BootRule.flag(
        "--bad", EngineBoot(looks=3, crashes=True, log=("INFO loading", "RuntimeError: out of memory"))
    )


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    """Two nodes, and a person with an empty home."""
    return Lab(tmp_path)


@pytest.fixture
def lab_of(tmp_path: Path) -> Callable[[int], Lab]:
    """The same with so many nodes."""
    return lambda nodes: Lab(tmp_path / f"{nodes} nodes", nodes)
