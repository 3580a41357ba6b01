"""Texts that are held to the letter: what a test makes must be what its file says.

`make golden` writes the files anew. Read the difference before you commit it: it is what users will see.
"""

from __future__ import annotations

import os
from pathlib import Path

WRITE = os.environ.get("SPARKOPS_GOLDEN") == "write"


def hold(path: Path, text: str) -> None:
    """Fail where the text is not that of the file."""
    if WRITE:
        path.write_bytes(text.encode())
    known = path.read_text(encoding="utf-8") if path.exists() else ""
    assert text.splitlines() == known.splitlines(), f"{path.name} differs; `make golden` writes it anew"
