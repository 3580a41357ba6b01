"""A fresh node for each shell."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.shells import NodeShell, node_shells


@pytest.fixture
def nodes(tmp_path: Path) -> list[NodeShell]:
    """One node a shell: what a script does is the same in both."""
    return node_shells(tmp_path)
