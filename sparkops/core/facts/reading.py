"""How probes become values: small readers that every parser shares."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar

from sparkops.core.facts.raw import Probe, Unread

K = TypeVar("K")
T = TypeVar("T")
Parser = Callable[[Probe], Any]


def known(value: T | Unread, otherwise: T) -> T:
    """The value if it could be read, else `otherwise`."""
    return otherwise if isinstance(value, Unread) else value


def ok(parse: Callable[[str], T]) -> Callable[[Probe], T | Unread]:
    """A parser of what a probe printed; a failed probe is Unread."""

    def parser(probe: Probe) -> T | Unread:
        return parse(probe.text) if probe.ok else probe.unread

    return parser


def lines(text: str) -> Iterator[str]:
    """The lines that are not blank, without trailing blanks."""
    return (line.rstrip() for line in text.split("\n") if line.strip())


def pairs(text: str, separator: str = "=") -> dict[str, str]:
    """`key=value` lines; quotes around a value are removed, the last of equal keys wins."""
    found = (line.partition(separator) for line in lines(text) if separator in line)
    return {key.strip(): unquoted(value.strip()) for key, _, value in found}


def unquoted(text: str) -> str:
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" else text


def tree(text: str) -> dict[str, str]:
    """`path:content` lines as `grep -H` prints small files; the first line of each file counts."""
    found: dict[str, str] = {}
    for line in lines(text):
        path, _, content = line.partition(":")
        found.setdefault(path.removeprefix("./"), content.strip())
    return found


def document(text: str) -> Any:
    """The JSON value in a tool's output; lines of warnings before and after it are ignored."""
    for line in re.finditer(r"^[{\[]", text, re.M):
        try:
            return json.JSONDecoder().raw_decode(text, line.start())[0]
        except ValueError:
            continue
    raise ValueError("no JSON in it")


def documents(text: str) -> list[Mapping[str, Any]]:
    """One JSON object a line; other lines are warnings of the tool."""
    found = (json.loads(line) for line in lines(text) if line.startswith("{"))
    return [item for item in found if isinstance(item, Mapping)]


def mapping(value: object) -> Mapping[str, Any]:
    """The value if it is a JSON object, else an empty mapping."""
    return value if isinstance(value, Mapping) else {}


def texts(value: object) -> tuple[str, ...]:
    """A JSON list as texts; anything else is an empty one."""
    return tuple(str(item) for item in value) if isinstance(value, list | tuple) else ()


def grouped(pairs: Iterable[tuple[K, T]]) -> dict[K, list[T]]:
    """Values by key; keys and values keep their order."""
    groups: dict[K, list[T]] = {}
    for key, value in pairs:
        groups.setdefault(key, []).append(value)
    return groups


def number(text: str) -> int | None:
    """A whole number, or None for `[N/A]`, `-`, nothing, and what no node can mean."""
    return int(text) if re.fullmatch(r"\s*[+-]?\d{1,18}\s*", text) else None


def plain(value: Any) -> Any:
    """The value as dicts, lists, texts and numbers, for JSON; what could not be read is `{"unread": REASON}`."""
    if isinstance(value, Unread):
        return {"unread": value.reason}
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, Set):
        return sorted(plain(item) for item in value)
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)
