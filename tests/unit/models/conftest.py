"""A hub, and a node's home to fetch from it into."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.models import Home, serving


@pytest.fixture
def hub() -> Iterator[Any]:
    with serving() as made:
        yield made


@pytest.fixture
def home(tmp_path: Path, hub: Any) -> Home:
    path = tmp_path / "a home"
    path.mkdir()
    return Home(path, hub)
