"""Recipes of spark-vllm-docker, schema "1": one `command` through `str.format`, once, with `defaults`."""

import re
from collections.abc import Mapping

from sparkops.core import schema
from sparkops.core.flags import FlagTable
from sparkops.core.formats import carried, command_text, parts
from sparkops.core.formats.shell import CommandError, commands, filled
from sparkops.core.formats.template import TemplateError, formatted
from sparkops.core.recipe import Caveat, Foreign, Metadata, Recipe, Setting
from sparkops.core.schema import Located

_ESCAPED = re.compile(r'\\([\\"$`])')
_REPLACED = re.compile(r"(?<!\\)(?:\\\\)*[$`]")
_QUOTES = re.compile(r'(?<!\\)"')
_BLANK = re.compile(r"(?<=\\\n)[ \t]*(?=\n)")
READ = (
    *("recipe_version", "name", "description", "model", "model_revision", "container", "command", "mods", "defaults"),
    *("env", "build_args", "cluster_only", "solo_only", "min_nodes", "max_nodes", "mode"),
)


def read(name: str, document: Located, flags: FlagTable) -> Recipe:
    """A recipe from a file that run-recipe.py would take."""
    entries = parts.mapping(document)
    parts.required(document, "command")
    located = entries["command"]
    given = {"model": parts.text(entries, "model"), **parts.defaults(entries)}
    env, left = parts.env(entries)
    env, shelled = _exported(env)
    try:
        rendered = formatted(command_text.template(located, "command"), given)
    except TemplateError as error:
        schema.fail(located, "command", str(error))
    joined = _joined(rendered)
    found = command_text.command(located, joined, flags, env)
    parts.required(document, "name", "container")
    left += _blank(located, rendered, joined)
    keys = {**parts.kept(entries, READ), **_said(entries, found.model)}
    metadata = Metadata(description=parts.text(entries, "description") or str(parts.text(entries, "name")))
    unknown = carried.unknown(entries, (*READ, *parts.USED))
    foreign = Foreign("1", found.words, keys, (*left, *shelled, *unknown))
    return parts.recipe(name, document, found, env, flags, metadata, foreign)


def _joined(rendered: str) -> str:
    """The command with each blank line inside it made a continuation, on the same lines."""
    before = None
    while rendered != before:
        before, rendered = rendered, _BLANK.sub(r"\\", rendered)
    return rendered


def _blank(located: Located, rendered: str, joined: str) -> list[Caveat]:
    """A caveat about the first blank line inside the command."""
    pairs = zip(rendered.split("\n"), joined.split("\n"), strict=True)
    line = next((index for index, (old, new) in enumerate(pairs) if old != new), None)
    if line is None:
        return []
    where = f"{located.file}:{located.line + 1 + line if located.style == '|' else located.line}"
    said = "the command goes on after a blank line, as in spark-vllm-docker since July 2026; before, it ended there"
    return [Caveat(where, said, instead="remove the blank line")]


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
    made, left = dict[str, Setting](), list[Caveat]()
    for name, setting in env.items():
        text = _ESCAPED.sub(r"\1", setting.value)
        if _REPLACED.search(setting.value):
            known, assumed = _expanded(setting.value, {name: one.value for name, one in made.items()})
            if known is None:
                said = f"sparkops runs no shell to expand the value of {name}: {setting.value}"
                left.append(Caveat(setting.origin, said, True, "write the value itself"))
            elif assumed:
                said = f"{name} is {known!r} in containers of sparkops, by the default in its value"
                left.append(Caveat(setting.origin, said, instead="if that is wrong, write the value itself"))
            text = text if known is None else known
        elif _QUOTES.search(setting.value):
            said = f"{name} keeps its double quotes; the shell of spark-vllm-docker removes them"
            left.append(Caveat(setting.origin, said))
        made[name] = Setting(text, setting.origin)
    return made, left


def _expanded(value: str, known: Mapping[str, str]) -> tuple[str | None, bool]:
    """A value with the variables put in that have a value here, and whether a default was taken; None if unknown."""
    try:
        words = [word for simple in commands(f'"{value}"') for word in simple.words]
    except CommandError:
        return None, False
    made, assumed = filled(words[0], known) if len(words) == 1 else ([], {})
    return (made[0].text if len(made) == 1 and not made[0].expands else None), bool(assumed)
