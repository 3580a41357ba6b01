"""Values as YAML text that every reader takes for the same value: what might be misread is quoted."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from sparkops.core.formats.values import bare
from sparkops.core.printable import UNSAFE
from sparkops.core.schema import scalar

_PLAIN = re.compile(r"[A-Za-z0-9_./][A-Za-z0-9_./+@=~-]*(?::[A-Za-z0-9_./+@=~-]+)*")
_DATE = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}.*")
_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")


def lines(entries: Mapping[str, Any], indent: str = "") -> Iterator[str]:
    """A mapping as block YAML; inner mappings and lists of texts are blocks too, what is deeper is JSON."""
    for key, value in entries.items():
        name = key if _KEY.fullmatch(key) and isinstance(scalar(key), str) else json.dumps(key)
        if isinstance(value, Block) and "\t" not in value and not UNSAFE.search(value):
            yield f"{indent}{name}: |"
            yield from (f"{indent}  {line}" if line else "" for line in value.rstrip("\n").split("\n"))
        elif isinstance(value, Mapping) and value and len(indent) < 4:
            yield f"{indent}{name}:"
            yield from lines(value, indent + "  ")
        elif isinstance(value, (list, tuple)) and value and all(isinstance(item, str) for item in value):
            yield f"{indent}{name}:"
            yield from (f"{indent}  - {one(item)}" for item in value)
        else:
            yield f"{indent}{name}: {one(value)}"


class Block(str):
    """Text of several lines, to be written as a block."""


def one(value: Any) -> str:
    """A value on one line; text without quotes if no reader takes it for anything else."""
    safe = isinstance(value, str) and _PLAIN.fullmatch(value) and not _DATE.fullmatch(value)
    return str(value) if safe and bare(value) == value == scalar(value) else _flow(value)


def _flow(value: Any) -> str:
    """A value in YAML's flow style, which is like JSON."""
    match value:
        case None | bool() | int():
            return json.dumps(value)
        case float():
            return _number(value)
        case str():
            return _quoted(value)
        case Mapping():
            return "{" + ", ".join(f"{_quoted(str(key))}: {_flow(item)}" for key, item in value.items()) + "}"
    return "[" + ", ".join(map(_flow, value)) + "]"


def _number(value: float) -> str:
    """A float that stays one: a point in it, as YAML 1.1 wants."""
    text = repr(value)
    if "e" in text and "." not in text.split("e")[0]:
        text = text.replace("e", ".0e")
    return text if "inf" not in text and "nan" not in text else f".{text}"


def _quoted(text: str) -> str:
    """In double quotes with JSON's escapes, all of which YAML has too."""
    if "'" not in text and ('"' in text or "\\" in text) and text.isprintable():
        return f"'{text}'"
    return "".join(one if one.isprintable() else _escaped(one) for one in json.dumps(text, ensure_ascii=False))


def _escaped(character: str) -> str:
    """As YAML has it; JSON's pairs of surrogates are two characters there."""
    code = ord(character)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"  # noqa: PLR2004
