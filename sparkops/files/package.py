"""The files that come with sparkops."""

from __future__ import annotations

from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]


@cache
def node_script(name: str) -> str:
    """The text of a file in `node/`; empty when there is none."""
    path = PACKAGE / "node" / name
    return path.read_text(encoding="utf-8") if path.is_file() else ""
