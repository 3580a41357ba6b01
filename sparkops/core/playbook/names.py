"""Names in playbooks: what `a.b[0]` means, and `{{ a.b }}` in a text."""

import re
from collections.abc import Mapping
from typing import Any

from sparkops.core.schema import did_you_mean, one_line

Path = tuple[str | int, ...]
Names = Mapping[str, Any]

_PLACE = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)
_DOTTED = re.compile(r"[A-Za-z_]\w*(\.\w+)*")


class BadExpression(ValueError):
    """One line: what is wrong with a condition, or with a name in a text."""


def lookup(path: Path, known: Names) -> Any:
    """The value at a dotted name: an entry of a mapping or an item of a list, never an attribute."""
    here: Any = known
    for depth, key in enumerate(path):
        if isinstance(here, Mapping) and key in here:
            here = here[key]
        elif isinstance(here, (list, tuple)) and str(key).isdecimal() and int(key) < len(here):
            here = here[int(key)]
        elif depth == 0:
            raise BadExpression(unknown(str(key), known))
        else:
            near = did_you_mean(str(key), map(str, here)) if isinstance(here, Mapping) else ""
            raise BadExpression(one_line(f"{dotted(path[:depth])} has no {key}{near}"))
    return here


def unknown(root: str, known: Names) -> str:
    """The message about an undefined name."""
    return one_line(f"unknown name {root}{did_you_mean(root, known)}")


def dotted(path: Path) -> str:
    return ".".join(map(str, path))


def parts(text: str) -> tuple[str | Path, ...]:
    """A text cut at its `{{ a.b }}`: words and names in turn. `BadExpression` for anything else between the braces."""
    cut: list[str | Path] = list(_PLACE.split(text))
    for index in range(1, len(cut), 2):
        inner = str(cut[index]).strip()
        if not _DOTTED.fullmatch(inner):
            told = "; for a default, give the name a value in `vars:`" if "|" in inner else ""
            raise BadExpression(one_line(f"{{{{ {inner[:60]} }}}} is no name: only names can be in {{{{ }}}}{told}"))
        cut[index] = tuple(inner.split("."))
    return tuple(part for part in cut if part)


def places(text: str) -> list[Path]:
    """The names in a text's braces."""
    return [part for part in parts(text) if not isinstance(part, str)]


def fill(text: str, known: Names) -> str:
    """The text with its `{{ a.b }}` replaced by values; braces inside a value stay as they are."""
    return "".join(part if isinstance(part, str) else word(part, known) for part in parts(text))


def word(path: Path, known: Names) -> str:
    """A value as text; raises BadExpression for mappings, lists and null."""
    found = lookup(path, known)
    if isinstance(found, bool):
        return str(found).lower()
    if isinstance(found, (str, int, float)):
        return str(found)
    raise BadExpression(f"{dotted(path)} is a list, a mapping or empty; a text can contain only single values")
