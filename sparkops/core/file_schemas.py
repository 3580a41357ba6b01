"""JSON Schemas of our kinds of files, made from the types that read them, for editors to complete and check."""

import types
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from typing import Annotated, Any, Literal, Required, Union, get_args, get_origin, get_type_hints, is_typeddict

from sparkops.core.fleet.fleet_file import FleetFile
from sparkops.core.inventory import Node
from sparkops.core.inventory_file import ALIASES
from sparkops.core.page import PageFile
from sparkops.core.playbook import shape
from sparkops.core.recipe_file import FOREIGN, RecipeFile
from sparkops.core.schema import Located

Schema = dict[str, Any]

_PLAIN: Mapping[Any, Schema] = {
    str: {"type": ["string", "number"]},  # a number is taken as it was written
    int: {"type": ["integer", "string"], "pattern": "^[-+]?[0-9_]+$"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    types.NoneType: {"type": "null"},
}


def schemas(flags: Iterable[str]) -> dict[str, Schema]:
    """The schema of each kind of file; `flags` are those of `vllm serve`, for an editor to complete."""
    return {"playbook": playbook(), "recipe": recipe(flags), "inventory": inventory(), "fleet": fleet()}


def playbook() -> Schema:
    """A list of plays. `run` or `steps` decides the kind of a play, so an editor shows the errors of that kind only."""
    is_verb = {"type": "object", "required": ["run"]}
    play = {"if": is_verb, "then": _of(shape.VerbPlay), "else": _of(shape.StepsPlayShape)}
    return _document("A playbook of sparkops", {"type": "array", "minItems": 1, "items": play})


def recipe(flags: Iterable[str]) -> Schema:
    """Our recipes and pages; those of another launcher are not checked. With `extends`, no other key is required."""
    known = _properties(RecipeFile)
    args = {**known["args"], "properties": {flag: {} for flag in sorted(flags)}}
    whole = {"anyOf": [{"required": ["extends"]}, {"required": ["model", "container"]}]}
    ours = {**_mapping({**known, "args": args}), "type": "object", **whole}
    foreign = {"anyOf": [{"required": [key]} for key in FOREIGN]}
    page = {"if": {"required": ["page"]}, "then": _record(PageFile), "else": {"if": foreign, "else": ours}}
    return _document("A recipe of sparkops", {"type": "object", **page})


def inventory() -> Schema:
    """Groups by their names, in Ansible's shape; variables that are not ours are allowed."""
    hints = get_type_hints(Node)
    own = {**{name: _of(hint) for name, hint in hints.items() if name != "name"}, "recipe": _of(str)}
    variables = {name: _or_null(one) for name, one in own.items()}
    variables |= {alias: variables[name] for alias, name in ALIASES.items()}
    parts = {"vars": {"$ref": "#/$defs/vars"}, "hosts": _named("vars"), "children": _named("group")}
    definitions = {"vars": {"type": ["object", "null"], "properties": variables}, "group": _mapping(parts)}
    found = {"type": "object", "minProperties": 1, "additionalProperties": {"$ref": "#/$defs/group"}}
    return _document("An inventory of sparkops", {**found, "$defs": definitions})


def fleet() -> Schema:
    """Deployments by their names."""
    return _document("A fleet of sparkops", _record(FleetFile))


def _or_null(found: Schema) -> Schema:
    return found if "anyOf" in found else {"anyOf": [found, {"type": "null"}]}


def _named(definition: str) -> Schema:
    return {"type": ["object", "null"], "additionalProperties": {"$ref": f"#/$defs/{definition}"}}


def _document(title: str, found: Schema) -> Schema:
    """The schema of a whole file."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title, **found}


def _of(hint: Any) -> Schema:
    """The schema of what a type hint accepts; mappings and lists may be null."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Required:
        return _of(inner[0])
    if origin is Annotated:
        return {**_of(inner[0]), "description": inner[1]}
    if origin is not None:
        return _made(origin, inner)
    return dict(_PLAIN[hint]) if hint in _PLAIN else _record(hint)


def _made(origin: Any, inner: tuple[Any, ...]) -> Schema:
    """The schema of a hint with parameters."""
    if origin is Literal:
        return {"enum": list(inner)}
    if origin in (Union, types.UnionType):
        return {"anyOf": [_of(one) for one in inner]}
    if origin is tuple:
        return {"type": ["array", "null"], "items": _of(inner[0])}
    return {"type": ["object", "null"], "additionalProperties": _of(inner[1])}


def _mapping(properties: Mapping[str, Schema], required: tuple[str, ...] = ()) -> Schema:
    """A mapping with these keys and no other."""
    needed = {"required": list(required)} if required else {}
    kind = "object" if required else ["object", "null"]
    return {"type": kind, "properties": dict(properties), "additionalProperties": False, **needed}


def _properties(hint: Any) -> dict[str, Schema]:
    """The schema of each field of a dataclass, by its key in a file."""
    hints = get_type_hints(hint, include_extras=True)
    return {field.name.replace("_", "-"): _of(hints[field.name]) for field in fields(hint) if field.init}


def _record(hint: Any) -> Schema:
    """A mapping with known keys; types without known keys accept anything."""
    if is_typeddict(hint):
        hints = get_type_hints(hint, include_extras=True)
        required = tuple(name for name, one in hints.items() if get_origin(one) is Required)
        return _mapping({name: _of(one) for name, one in hints.items()}, required)
    if not is_dataclass(hint) or hint is Located:
        return {}
    needed = (f for f in fields(hint) if f.init and f.default is MISSING and f.default_factory is MISSING)
    return _mapping(_properties(hint), tuple(field.name.replace("_", "-") for field in needed))
