"""An endpoint and its engine for one test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.front import Engine, Front


@pytest.fixture
def engine() -> Iterator[Engine]:
    found = Engine()
    yield found
    found.end()


@pytest.fixture
def front(tmp_path: Path, engine: Engine) -> Iterator[Front]:
    found = Front(tmp_path, engine)
    found.start()
    yield found
    found.end()
