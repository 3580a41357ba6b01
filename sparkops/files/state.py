"""Files that sparkops keeps on the control machine; all state of nodes is on the nodes."""

import hashlib
import json
import os
from pathlib import Path
from typing import Any

from sparkops import whole_file
from sparkops.core.schema import one_line
from sparkops.errors import UsageError

UNWRITABLE = "free disk space, correct the folder's owner, or set $XDG_STATE_HOME to another folder; old results remain"


def folder(kind: str) -> Path:
    """`$XDG_STATE_HOME/sparkops/<kind>`; it may not exist."""
    named = os.environ.get("XDG_STATE_HOME") or ""
    base = Path(named) if Path(named).is_absolute() else Path.home() / ".local" / "state"
    return base / "sparkops" / kind


def of_inventory(source: str) -> str:
    """The name of the file that belongs to an inventory."""
    return hashlib.sha256(str(Path(source).resolve()).encode()).hexdigest()[:16]


def write(kind: str, name: str, text: str) -> Path:
    """Write one file, completely or not at all, readable only by its owner; raises UsageError."""
    path = folder(kind) / name
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        whole_file.write(path, text, 0o600)
    except OSError as error:
        reason = (error.strerror or "cannot be written").lower()
        raise UsageError(one_line(f"{folder(kind)}: {reason}"), hint=UNWRITABLE) from None
    return path


def write_json(kind: str, name: str, document: Any) -> Path:
    """Write one JSON file; raises UsageError."""
    return write(kind, f"{name}.json", json.dumps(document, indent=2) + "\n")


class DamagedFile(ValueError):
    """One line: why a file could not be read."""


def document(kind: str, name: str) -> Any:
    """The content of the file; raises DamagedFile."""
    path = folder(kind) / f"{name}.json"
    if path.exists() and not path.is_file():
        raise DamagedFile("is not a file")
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DamagedFile((error.strerror or "cannot be read").lower()) from None
    except RecursionError:
        raise DamagedFile("is nested too deeply") from None
    except UnicodeDecodeError:
        raise DamagedFile("is not UTF-8 text") from None
    except ValueError as error:
        raise DamagedFile(f"is not JSON ({error})") from None


def read(kind: str, name: str) -> Any:
    """The content of the file; None if it does not exist or cannot be read."""
    try:
        return document(kind, name)
    except DamagedFile:
        return None
