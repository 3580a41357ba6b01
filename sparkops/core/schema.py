"""From located values (`load` reads file and line) to frozen dataclasses; errors are one line with file and line."""

import difflib
import math
import re
import types
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import lru_cache
from typing import Any, Literal, NoReturn, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from sparkops.errors import UsageError

T = TypeVar("T")

_WORDS: dict[str, bool | None] = {"": None, "~": None, "null": None}
_WORDS |= {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]*(_[0-9]+)*)")
_FLOAT = re.compile(r"[-+]?([0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))([eE][-+]?[0-9]+)?")
_LONGEST_NUMBER = 20
_FEW = 24
"""Names that fit in one message: the keys of a step of a playbook are the longest list."""
_UNPRINTED = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]+")


@dataclass(frozen=True)
class Opaque:
    """A value with a tag of another tool (such as Ansible's `!vault`); no field of ours accepts it."""

    tag: str


@dataclass(frozen=True)
class Located:
    """A value with its file and line; a mapping's entries have the lines of their keys."""

    value: Any
    file: str
    line: int
    text: str | None = None
    """A scalar as written in the file, before it was read as a number."""
    style: str = ""
    """How the scalar is written: "" bare, a quote, or `|` or `>` of a block."""
    rows: tuple[tuple[int, str], ...] = ()
    """The lines, with their numbers, of a scalar over several lines that a reader of YAML joins by blanks."""
    again: int = 0
    """The line where the entry's key stands again with an equal value; 0 if the key is given once."""

    @property
    def where(self) -> str:
        return f"{self.file}:{self.line}"


def scalar(text: str) -> str | int | float | bool | None:
    """What an unquoted word means. Dates, octals and what would lose digits stay text."""
    if text in (text.lower(), text.upper(), text.title()) and text.lower() in _WORDS:
        return _WORDS[text.lower()]
    if len(text) > _LONGEST_NUMBER:
        return text
    if _INTEGER.fullmatch(text):
        return int(text)
    if _FLOAT.fullmatch(text) and math.isfinite(number := float(text)):
        return number
    return text


def exact(text: str) -> str | int | float | bool | None:
    """As `scalar`, for values that are put into texts: a number that Python would write in another way stays text."""
    found = scalar(text)
    return text if isinstance(found, (int, float)) and not isinstance(found, bool) and str(found) != text else found


def plain(value: Located) -> Any:
    """The value without its places."""
    if isinstance(value.value, dict):
        return {key: plain(item) for key, item in value.value.items()}
    if isinstance(value.value, tuple):
        return [plain(item) for item in value.value]
    return value.value


def fail(value: Located, path: str, problem: str, hint: str | None = None) -> NoReturn:
    raise UsageError(one_line(f"{value.where}: {path + ': ' if path else ''}{problem}"), hint=hint)


def one_line(text: str) -> str:
    """A message that holds words from a file or a command line, which may hold anything."""
    return _UNPRINTED.sub(" ", text)


def nearest(name: str, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    found = difflib.get_close_matches(name, list(known), n=1, cutoff=cutoff)
    return found[0] if found else None


def meant(name: str, known: Iterable[str]) -> str | None:
    """The only name that begins with this one, else the nearest."""
    known = sorted(known)
    begun = [one for one in known if name and one.startswith(name)]
    return begun[0] if len(begun) == 1 else nearest(name, known)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The tail of a message about an unknown name: the one that is meant, or all of them when they are few."""
    known = sorted(known)
    if close := meant(name, known):
        return f" (did you mean {close}?)"
    return f" (there are: {', '.join(known)})" if 0 < len(known) <= _FEW else ""


def kind_of(value: Any) -> str:
    names = {dict: "a mapping", tuple: "a list", str: "text", bool: "true or false", int: "a number", float: "a number"}
    if isinstance(value, Opaque):
        return f"a {value.tag} value"
    return "an empty value" if value is None else names.get(type(value), type(value).__name__)


def mapping(value: Located, path: str = "", known: Iterable[str] | None = None) -> dict[str, Located]:
    """The entries of a mapping; an absent one has none. Refuses keys given twice and, with `known`, any other key."""
    if value.value is None:
        return {}
    for key, item in entries(value, path).items():
        if item.again:
            twice = Located(None, item.file, item.again)
            fail(twice, _under(path, key), f"is given twice (first on line {item.line})")
    if known is not None:
        names = tuple(known)
        for key, item in value.value.items():
            if key not in names:
                fail(item, _under(path, key), f"unknown key{did_you_mean(key, names)}")
    return dict(value.value)


def entries(value: Located, path: str = "") -> dict[str, Located]:
    """The entries of a mapping, also of one that gives a key twice with one value."""
    if not isinstance(value.value, dict):
        fail(value, path, f"must be a mapping, not {kind_of(value.value)}")
    return dict(value.value)


def equal(one: Located, other: Located) -> bool:
    """Whether two values are equal, their places aside."""
    return one.text == other.text and plain(one) == plain(other)


def listed(value: Located, path: str = "") -> tuple[Located, ...]:
    if value.value is None:
        return ()
    if not isinstance(value.value, tuple):
        fail(value, path, f"must be a list, not {kind_of(value.value)}")
    return tuple(value.value)


def text(value: Located, path: str = "") -> str:
    """Text; a number is taken as it was written."""
    if isinstance(value.value, str):
        return value.value
    if isinstance(value.value, (int, float)) and not isinstance(value.value, bool) and value.text is not None:
        return value.text
    fail(value, path, f"must be text, not {kind_of(value.value)}")


def integer(value: Located, path: str = "", low: int | None = None, high: int | None = None) -> int:
    number = scalar(value.value) if isinstance(value.value, str) else value.value
    if not isinstance(number, int) or isinstance(number, bool):
        fail(value, path, f"must be a whole number, not {_shown(value)}")
    if (low is not None and number < low) or (high is not None and number > high):
        fail(value, path, f"must be between {low} and {high}, not {number}")
    return number


def choice(value: Located, path: str, options: Iterable[str]) -> str:
    names = tuple(options)
    if value.value not in names:
        fail(value, path, f"must be {' or '.join(names)}, not {_shown(value)}")
    return str(value.value)


def build(kind: type[T], value: Located, path: str = "") -> T:
    """A mapping as an instance of a dataclass: field `trade_offs` is key `trade-offs`."""
    hints = _hints(cast(Hashable, kind))
    known = {field.name.replace("_", "-"): field for field in fields(kind) if field.init}  # type: ignore[arg-type]
    given = mapping(value, path, known)
    made: dict[str, Any] = {}
    for key, field in known.items():
        if key in given:
            made[field.name] = convert(hints[field.name], given[key], _under(path, key))
        elif field.default is MISSING and field.default_factory is MISSING:
            fail(value, _under(path, key), "is required")
    return kind(**made)


@lru_cache(maxsize=64)
def _hints(kind: Hashable) -> Mapping[str, Any]:
    """A class's hints; a catalogue of recipes asks for the same few classes over and over."""
    return get_type_hints(kind)


def convert(hint: Any, value: Located, path: str) -> Any:
    """A located value as what a type hint asks for."""
    origin, inner = get_origin(hint), get_args(hint)
    if hint in (Any, Located):
        return plain(value) if hint is Any else value
    if origin in (Union, types.UnionType):
        return _optional(inner, value, path)
    if origin is Literal:
        return choice(value, path, inner)
    if origin is tuple:
        return tuple(convert(inner[0], item, f"{path}[{index}]") for index, item in enumerate(listed(value, path)))
    if origin is not None and issubclass(origin, Mapping):
        return {key: convert(inner[1], item, _under(path, key)) for key, item in mapping(value, path).items()}
    return _single(hint, value, path)


def _single(hint: Any, value: Located, path: str) -> Any:
    if is_dataclass(hint) and isinstance(hint, type):
        return build(hint, value, path)
    if hint is str:
        return text(value, path)
    if hint is int:
        return integer(value, path)
    if hint is bool and isinstance(value.value, bool):
        return value.value
    if hint is float and isinstance(value.value, (int, float)) and not isinstance(value.value, bool):
        return float(value.value)
    fail(value, path, f"must be {kind_of(hint())}, not {_shown(value)}")


def _optional(inner: tuple[Any, ...], value: Located, path: str) -> Any:
    if value.value is None and types.NoneType in inner:
        return None
    return convert(next(hint for hint in inner if hint is not types.NoneType), value, path)


def _shown(value: Located) -> str:
    return repr(value.value) if isinstance(value.value, (str, int, float)) else kind_of(value.value)


def _under(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key
