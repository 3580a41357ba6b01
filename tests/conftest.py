"""Whole labs take minutes: their tests are marked `slow`, run by `make test` and not again on every Python's wheel."""

from __future__ import annotations

from pathlib import Path

import pytest

HERE = Path(__file__).parent
LABS = (HERE / "embedded", HERE / "lab")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if any(folder in item.path.parents for folder in LABS):
            item.add_marker(pytest.mark.slow)
