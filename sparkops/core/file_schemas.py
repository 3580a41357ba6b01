"""What each of our kinds of files may hold, as JSON Schema."""

from collections.abc import Iterable, Mapping
from typing import get_type_hints

from sparkops.core.inventory import Node
from sparkops.core.inventory_file import ALIASES
from sparkops.core.json_schema import Schema, document, of, properties, record
from sparkops.core.playbook import shape
from sparkops.core.recipe_file import FOREIGN, RecipeFile


def schemas(flags: Iterable[str]) -> dict[str, Schema]:
    """By kind; `flags` are those of `vllm serve`, for an editor to complete."""
    return {"playbook": playbook(), "recipe": recipe(flags), "inventory": inventory()}


def playbook() -> Schema:
    """A list of plays; `run` or `steps` tells which kind a play is, so that an editor complains of that one alone."""
    is_verb = {"type": "object", "required": ["run"]}
    play = {"if": is_verb, "then": of(shape.VerbPlay), "else": of(shape.StepsPlayShape)}
    return document("A playbook of sparkops", {"type": "array", "minItems": 1, "items": play})


def recipe(flags: Iterable[str]) -> Schema:
    """Ours; a recipe of another launcher is left alone. What `extends` may say, this file need not."""
    known = properties(RecipeFile)
    args = {**known["args"], "properties": {flag: {} for flag in sorted(flags)}}
    whole = {"anyOf": [{"required": ["extends"]}, {"required": ["model", "container"]}]}
    ours = {**record({**known, "args": args}), "type": "object", **whole}
    foreign = {"anyOf": [{"required": [key]} for key in FOREIGN]}
    return document("A recipe of sparkops", {"type": "object", "if": foreign, "else": ours})


def inventory() -> Schema:
    """Groups below their names, in Ansible's shape; variables of others are welcome."""
    hints = get_type_hints(Node)
    own = {**{name: of(hint) for name, hint in hints.items() if name != "name"}, "recipe": of(str)}
    variables = {name: _or_nothing(one) for name, one in own.items()}
    variables |= {alias: variables[name] for alias, name in ALIASES.items()}
    parts = {"vars": {"$ref": "#/$defs/vars"}, "hosts": _named("vars"), "children": _named("group")}
    definitions = {"vars": {"type": ["object", "null"], "properties": variables}, "group": record(parts)}
    found = {"type": "object", "minProperties": 1, "additionalProperties": {"$ref": "#/$defs/group"}}
    return document("An inventory of sparkops", {**found, "$defs": definitions})


def _named(definition: str) -> Schema:
    return {"type": ["object", "null"], "additionalProperties": {"$ref": f"#/$defs/{definition}"}}


def _or_nothing(found: Mapping[str, object]) -> Schema:
    return dict(found) if "anyOf" in found else {"anyOf": [dict(found), {"type": "null"}]}
