"""JSON Schema from the types that read our files, so that an editor completes and checks what they would take."""

import types
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from typing import Annotated, Any, Literal, Required, Union, get_args, get_origin, get_type_hints, is_typeddict

from sparkops.core.schema import Located

DRAFT = "https://json-schema.org/draft/2020-12/schema"

Schema = dict[str, Any]

_PLAIN: Mapping[Any, Schema] = {
    str: {"type": ["string", "number"]},  # a number is taken as it was written
    int: {"type": ["integer", "string"], "pattern": "^[-+]?[0-9_]+$"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    types.NoneType: {"type": "null"},
}


def document(title: str, found: Schema) -> Schema:
    """The schema of a whole file."""
    return {"$schema": DRAFT, "title": title, **found}


def of(hint: Any) -> Schema:
    """The schema of what a type hint accepts; where a mapping or a list may stand, nothing may stand too."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Required:
        return of(inner[0])
    if origin is Annotated:
        return {**of(inner[0]), "description": inner[1]}
    if origin is not None:
        return _made(origin, inner)
    return dict(_PLAIN[hint]) if hint in _PLAIN else _record(hint)


def _made(origin: Any, inner: tuple[Any, ...]) -> Schema:
    """Of a hint with others inside."""
    if origin is Literal:
        return {"enum": list(inner)}
    if origin in (Union, types.UnionType):
        return {"anyOf": [of(one) for one in inner]}
    if origin is tuple:
        return {"type": ["array", "null"], "items": of(inner[0])}
    return {"type": ["object", "null"], "additionalProperties": of(inner[1])}


def record(properties: Mapping[str, Schema], required: tuple[str, ...] = ()) -> Schema:
    """A mapping with these keys and no other."""
    needed = {"required": list(required)} if required else {}
    kind = "object" if required else ["object", "null"]
    return {"type": kind, "properties": dict(properties), "additionalProperties": False, **needed}


def properties(hint: Any) -> dict[str, Schema]:
    """What each field of a dataclass accepts, by its key in a file."""
    hints = get_type_hints(hint, include_extras=True)
    return {field.name.replace("_", "-"): of(hints[field.name]) for field in fields(hint) if field.init}


def _record(hint: Any) -> Schema:
    """A mapping with known keys; anything is welcome where the type says nothing."""
    if is_typeddict(hint):
        hints = get_type_hints(hint, include_extras=True)
        required = tuple(name for name, one in hints.items() if get_origin(one) is Required)
        return record({name: of(one) for name, one in hints.items()}, required)
    if not is_dataclass(hint) or hint is Located:
        return {}
    needed = (f for f in fields(hint) if f.init and f.default is MISSING and f.default_factory is MISSING)
    return record(properties(hint), tuple(field.name.replace("_", "-") for field in needed))
