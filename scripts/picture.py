"""Draw docs/terminal.svg, what a real run in the lab prints: `PYTHONPATH=. python scripts/picture.py`."""

import contextlib
import fcntl
import io
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).resolve().parents[1]
COLUMNS = 110
SHOWN = ("sparkops -i lab deploy --topology cluster", "sparkops -i lab status")


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        os.environ |= {"SPARKOPS_LAB_DIR": f"{scratch}/lab", "HOME": scratch, "TERM": "xterm-256color"}
        try:
            _printed("lab", "up", "--nodes", "2")
            _draw([(line, _printed(*line.split()[1:])) for line in SHOWN])
        finally:
            _printed("lab", "down")


def _printed(*words: str) -> str:
    """Run sparkops and return what it printed: its progress as plain lines, then its answer as a terminal gets it."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, COLUMNS, 0, 0))
    with tempfile.TemporaryFile("w+") as progress:
        tool = subprocess.Popen([sys.executable, "-m", "sparkops", *words], stdout=theirs, stderr=progress, cwd=ROOT)
        os.close(theirs)
        answer = b"".join(_blocks(ours)).decode().replace("\r", "")
        code = tool.wait()
        progress.seek(0)
        lines = progress.read()
    if code:
        raise SystemExit(lines)
    return lines + answer


def _blocks(terminal: int) -> Iterator[bytes]:
    # Linux says EIO when the last process that held the other end is gone.
    with contextlib.suppress(OSError):
        while block := os.read(terminal, 4096):
            yield block


def _draw(parts: list[tuple[str, str]]) -> None:
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True, color_system="standard")
    for line, answer in parts:
        console.print(Text.assemble(("$ ", "green bold"), (line, "bold")))
        console.print(Text.from_ansi(answer.rstrip()))
        console.print()
    svg = console.export_svg(title="sparkops")
    # rich names a font on somebody's server; a picture of ours opens without a network.
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)
    (ROOT / "docs" / "terminal.svg").write_text(svg + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
