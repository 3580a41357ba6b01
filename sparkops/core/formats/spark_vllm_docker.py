"""Recipes of spark-vllm-docker, schema "1": one `command` through `str.format`, once, with `defaults`."""

import re

from sparkops.core import schema
from sparkops.core.flags import FlagTable
from sparkops.core.formats import parts
from sparkops.core.formats.template import TemplateError, formatted
from sparkops.core.recipe import Caveat, Foreign, Metadata, Recipe, Setting
from sparkops.core.schema import Located

_ESCAPED = re.compile(r'\\([\\"$`])')
_REPLACED = re.compile(r"(?<!\\)(?:\\\\)*[$`]")
REQUIRED = ("name", "container", "command")
READ = (
    *("recipe_version", "name", "description", "model", "model_revision", "container", "command", "mods", "defaults"),
    *("env", "build_args", "cluster_only", "solo_only", "min_nodes", "max_nodes", "mode"),
)


def read(name: str, document: Located, flags: FlagTable) -> Recipe:
    """A recipe from a file that run-recipe.py would take."""
    entries = schema.mapping(document)
    for key in REQUIRED:
        if parts.text(entries, key) is None:
            schema.fail(document, key, "is required")
    template = entries["command"]
    given = {"model": parts.text(entries, "model"), **parts.defaults(entries)}
    try:
        rendered = formatted(schema.text(template, "command"), given)
    except TemplateError as error:
        schema.fail(template, "command", str(error))
    found = parts.command(template, rendered, flags)
    env, left = parts.env(entries)
    env, shelled = _exported(env)
    keys = {**parts.kept(entries, READ), **_said(entries, found.model)}
    metadata = Metadata(description=parts.text(entries, "description") or str(parts.text(entries, "name")))
    foreign = Foreign("1", found.words, keys, (*left, *shelled, *found.caveats))
    return parts.recipe(name, document, found, env, flags, metadata, foreign)


def _said(entries: parts.Entries, served: str) -> dict[str, object]:
    """Keys whose text a Recipe holds in another form, for `recipe export`."""
    said: dict[str, object] = {
        "name": parts.text(entries, "name"),
        "build_args": list(parts.words(entries, "build_args")),
    }
    if (model := parts.text(entries, "model")) is not None and model != served:
        said["model"] = model
    return said


def _exported(env: dict[str, Setting]) -> tuple[dict[str, Setting], list[Caveat]]:
    """The variables as the engine gets them: the launcher exports each in double quotes, so a shell unescapes them.

    Quotes inside a value are kept, although that shell would remove them: JSON needs them.
    """
    left = [
        Caveat(setting.origin, f"sparkops runs no shell to expand the value of {name}: {setting.value}", True)
        for name, setting in env.items()
        if _REPLACED.search(setting.value)
    ]
    return {name: Setting(_ESCAPED.sub(r"\1", one.value), one.origin) for name, one in env.items()}, left
