"""Values of a JSON file as frozen dataclasses, checked against their type hints."""

import re
import types
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, NoReturn, TypeGuard, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from sparkops.core.schema import kind_of, one_line

T = TypeVar("T")

DEEPEST = 64
LARGEST = 1e15
_NO_CHARACTER = re.compile("[\0\ud800-\udfff]")


class Mistyped(ValueError):
    """One line: the key, what it must be, and what it is."""


def typed(kind: type[T], value: object, path: str = "") -> T:
    """The value as `kind`; raises Mistyped. Keys that the dataclass lacks are ignored, so that files can gain some."""
    return cast(T, _read(kind, value, path))


def is_number(value: object) -> TypeGuard[float]:
    """Whether this is a number that can be calculated with: neither true, NaN, nor larger than `LARGEST`."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= LARGEST


def _read(hint: Any, value: Any, path: str) -> Any:
    origin, inner = get_origin(hint), get_args(hint)
    if hint is Any:
        return _bounded(value, path)
    if origin in (Union, types.UnionType):
        return None if value is None else _read(inner[0], value, path)
    if origin is tuple:
        items = value if isinstance(value, tuple) else _is(list, value, path)
        return tuple(_read(inner[0], item, f"{path}[{index}]") for index, item in enumerate(items))
    if origin is Mapping:
        return {
            _text(key, path): _read(inner[1], item, f"{path}.{key}") for key, item in _is(dict, value, path).items()
        }
    return _built(hint, _is(dict, value, path), path) if is_dataclass(hint) else _single(hint, value, path)


def _single(kind: type, value: Any, path: str) -> Any:
    if kind in (int, float):
        valid = is_number(value) and (kind is float or isinstance(value, int))
        return value if valid else _fail(path, f"must be {'a number' if kind is float else 'a whole number'}", value)
    return _text(value, path) if kind is str else _is(kind, value, path)


def _built(kind: Any, given: Mapping[str, Any], path: str) -> Any:
    hints, made = get_type_hints(kind), {}
    for field in fields(kind):
        at = f"{path}.{field.name}".lstrip(".")
        if field.name in given:
            made[field.name] = _read(hints[field.name], given[field.name], at)
        elif field.default is MISSING and field.default_factory is MISSING:
            raise Mistyped(f"{at}: is missing")
    return kind(**made)


def _is(kind: type, value: Any, path: str) -> Any:
    return value if type(value) is kind else _fail(path, f"must be {_told(kind())}", value)


def _text(value: Any, path: str) -> str:
    text = str(_is(str, value, path))
    return text if not _NO_CHARACTER.search(text) else _fail(path, "must be text that can be written", value)


def _bounded(value: Any, path: str, depth: int = 0) -> Any:
    if depth > DEEPEST:
        raise Mistyped(f"{path}: is nested too deeply")
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        _bounded(item, path, depth + 1)
    return value


def _fail(path: str, problem: str, value: Any) -> NoReturn:
    shown = repr(value) if is_number(value) else _told(value)
    raise Mistyped(one_line(f"{path or 'the file'}: {problem}, not {shown}"))


def _told(value: Any) -> str:
    return kind_of(tuple(value) if isinstance(value, list) else value)
