"""Texts that are held to the letter: what a test makes must be what its file says.

`make golden` writes the files anew. Read the difference before you commit it: it is what users will see.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sparkops.errors import UsageError

WRITE = os.environ.get("SPARKOPS_GOLDEN") == "write"


def hold(path: Path, text: str) -> None:
    """Fail where the text is not that of the file."""
    if WRITE:
        path.write_bytes(text.encode())
    known = path.read_text(encoding="utf-8") if path.exists() else ""
    assert text.splitlines() == known.splitlines(), f"{path.name} differs; `make golden` writes it anew"


def hold_lines(path: Path, outcome: Callable[[str], str]) -> None:
    """Hold a file of lines `| INPUT`, each followed by what comes of it, indented and without empty lines.

    Lines `# …` are remarks. To add a case, write its `|` line and run `make golden`.
    """
    hold_blocks(path, outcome, each=True)


def hold_blocks(path: Path, outcome: Callable[[str], str], each: bool = False) -> None:
    """The same where all `|` lines up to the next other line are one input."""
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith(" ")]
    told, block = "", list[str]()
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        told += f"{line}\n"
        block += [line[2:]] if line.startswith("|") else []
        if block and (each or not following.startswith("|")):
            told += "".join(f"    {line.rstrip()}\n" for line in outcome("\n".join(block)).splitlines() if line.strip())
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
