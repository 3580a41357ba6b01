"""Captures of whole nodes, which `support.captures` reads."""

from pathlib import Path

import pytest

from support.paths import CAPTURES


@pytest.fixture(params=sorted(CAPTURES.glob("*.facts")), ids=lambda path: path.stem)
def capture(request: pytest.FixtureRequest) -> Path:
    found: Path = request.param
    return found
