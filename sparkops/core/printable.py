"""Text of nodes, files and models for a terminal, which would obey some of its characters."""

import re
from collections.abc import Mapping
from typing import Any

_INVISIBLE = "\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f"
UNSAFE = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f{_INVISIBLE}\ud800-\udfff]")
"""Control characters other than tab and newline, marks that reorder or hide text, halves of characters."""

_COLOUR = r"\x1b\[[0-9;:]*m"
_UNSAFE = re.compile(f"{_COLOUR}|\r(?=\n|\\Z)|{UNSAFE.pattern}")


def printable(text: str) -> str:
    r"""The text with each unsafe character as an escape such as `\x1b`; colours and CR before a newline are removed."""
    return text if text.isprintable() else _UNSAFE.sub(_escaped, text)


def printable_line(text: str, most: int) -> str:
    """The text made printable, on one line of at most so many characters."""
    line = " ".join(printable(text).split())
    return line if len(line) <= most else line[: most - 3] + "..."


def last_lines(text: str, most: int = 500) -> str:
    """The last lines of the text that fit in so many characters, on one line; of a longer last line, its end."""
    told = ""
    for one in reversed([" ".join(line.split()) for line in text.splitlines() if line.strip()]):
        if told and len(one) + 1 + len(told) > most:
            break
        told = f"{one} {told}" if told else one
    return told if len(told) <= most else "..." + told[3 - most :]


def all_printable(value: Any) -> Any:
    """A JSON value with all texts in it, keys too, made printable."""
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, Mapping):
        return {all_printable(key): all_printable(item) for key, item in value.items()}
    return [all_printable(item) for item in value] if isinstance(value, list | tuple) else value


def _escaped(found: re.Match[str]) -> str:
    ends_line = found[0] == "\r" and found.string[found.end() : found.end() + 1] in ("", "\n")
    return "" if len(found[0]) > 1 or ends_line else found[0].encode("unicode_escape").decode()
