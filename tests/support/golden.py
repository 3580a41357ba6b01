"""Texts that are held to the letter: what a test makes must be what its file says.

`make golden` writes the files anew. Read the difference before you commit it: it is what users will see.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from textwrap import indent
from typing import Any

from sparkops.errors import UsageError

WRITE = os.environ.get("SPARKOPS_GOLDEN") == "write"


def hold(path: Path, text: str) -> None:
    """Fail where the text is not that of the file."""
    if WRITE:
        path.write_bytes(text.encode())
    known = path.read_text(encoding="utf-8") if path.exists() else ""
    assert text.splitlines() == known.splitlines(), f"{path.name} differs; `make golden` writes it anew"


def replay(path: Path, outcome: Callable[[str], str], each: bool = False) -> None:
    """Hold a file of blocks `| INPUT` (with `each`: of such lines), each followed by what comes of it, indented.

    Lines `# …` are remarks. To add a case, write its `|` lines and run `make golden`.
    """
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith(" ")]
    told, block = "", list[str]()
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        told += f"{line}\n"
        block += [line[2:]] if line.startswith("|") else []
        if block and (each or not following.startswith("|")):
            told += indent("\n".join(line.rstrip() for line in outcome("\n".join(block)).splitlines()), "    ") + "\n"
            block.clear()
    hold(path, told)


def refusal(work: Callable[..., str], *words: Any) -> str:
    """What comes of some work, or the one line that it is refused with, and the way out."""
    try:
        return work(*words)
    except UsageError as error:
        refused = error
    assert len(refused.message.splitlines()) == 1, refused.message
    return f"refused: {refused.message}" + (f"\n    hint: {refused.hint}" if refused.hint else "")
