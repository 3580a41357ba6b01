"""The files that come with sparkops."""

from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]


def commit() -> str | None:
    """The commit of this sparkops, 12 digits, from the wheel or the checkout; None if unknown."""
    noted, git = PACKAGE / "data" / "commit", PACKAGE.parent / ".git"
    try:
        if noted.is_file():
            return noted.read_text(encoding="utf-8")[:12]
        head = (git / "HEAD").read_text(encoding="utf-8").strip()
        found = (git / head.removeprefix("ref: ")).read_text(encoding="utf-8") if head.startswith("ref: ") else head
    except OSError:  # no checkout, a worktree, or packed refs
        return None
    return found[:12]


@cache
def node_script(name: str) -> str:
    """The text of a file in `node/`; empty if there is none."""
    path = PACKAGE / "node" / name
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def page_file(name: str) -> bytes | None:
    """A file of the page of `watch --web`; None if there is none of this name."""
    files = {path.name: path for path in (PACKAGE / "data" / "web").iterdir()}
    return files[name].read_bytes() if name in files else None


def report_style() -> str:
    """The style sheet of a benchmark's page."""
    return (PACKAGE / "data" / "report.css").read_text(encoding="utf-8")
