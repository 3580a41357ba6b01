"""Tables of `vllm serve` options: the packaged ones, one from a file, and those read from images."""

import json
import re
import zlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from sparkops.core.flags import Flag, FlagTable
from sparkops.core.schema import one_line
from sparkops.data import compact, dump
from sparkops.errors import UsageError
from sparkops.files import state
from sparkops.files.reading import beginning

KIND = "flags"
SCHEMA = 1
LARGEST = 4_000_000


def from_file(path: str) -> FlagTable:
    """Read a table as `image flags` prints it, or the dump made inside an image; raises UsageError."""
    try:
        data = beginning(Path(path).expanduser(), LARGEST)
        document = json.loads(data) if len(data) <= LARGEST else None
    except (OSError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or "is not a valid path"
        raise UsageError(one_line(f"{path}: {reason.lower()}")) from None
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", 1)
        raise UsageError(one_line(f"{path}:{line}: is not JSON")) from None
    try:
        return table(document)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError):
        raise UsageError(
            one_line(f"{path}:1: is not a table of vllm serve options"),
            hint="write a table: `sparkops image flags NAME --json > FILE`",
        ) from None


def table(document: Any) -> FlagTable:
    """A table from a document; raises KeyError, TypeError, ValueError, AttributeError or IndexError."""
    if isinstance(document, Mapping) and isinstance(document.get("table"), Mapping):
        document = document["table"]
    if isinstance(document, Mapping) and isinstance(document.get("options"), list):
        document = {**document, **compact.table(document["options"], str(document["version"]))}
    elif isinstance(document, list):
        document = compact.table(document, "unknown")
    return replace(FlagTable.read(document), exact=True)


def program() -> str:
    """The program that reads the options inside an image."""
    return Path(dump.__file__).read_text(encoding="utf-8")


def document(of: FlagTable) -> dict[str, Any]:
    """A table as the document that is kept and printed."""
    usual = Flag("")
    flags = {
        name: {key: value for key, value in vars(flag).items() if key != "name" and value != getattr(usual, key)}
        for name, flag in of.flags.items()
    }
    return {"engine": "vllm", "version": of.version, "flags": flags}


def of_image(reference: str) -> FlagTable | None:
    """The table read last from an image of this name on any node; None without a valid one."""
    kept = state.read(KIND, _name(reference))
    if not isinstance(kept, Mapping) or kept.get("schema") != SCHEMA:
        return None
    try:
        return replace(table(kept["table"]), image=str(kept["image"]), fingerprint=str(kept["fingerprint"]))
    except (KeyError, TypeError, ValueError, AttributeError, IndexError):
        return None


def keep(reference: str, fingerprint: str, document: Mapping[str, Any]) -> str:
    """Keep a table for `lint` and `plan` on this machine; returns the path, raises UsageError."""
    whole = {"schema": SCHEMA, "image": reference, "fingerprint": fingerprint, "table": dict(document)}
    return str(state.write_json(KIND, _name(reference), whole))


def _name(reference: str) -> str:
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", reference)[:80]
    return f"{plain}-{zlib.crc32(reference.encode()):08x}"
