"""Recipes of sparkrun, schema "2" and later: `{key}` until nothing changes, or `defaults` as flags if no command."""

import json
import re
import shlex
from collections.abc import Iterator
from typing import Any

from sparkops.core import schema
from sparkops.core.flags import FlagTable
from sparkops.core.formats import carried, command_text, parts
from sparkops.core.formats.commandline import Serving
from sparkops.core.formats.template import TemplateError, substituted
from sparkops.core.formats.values import seen
from sparkops.core.recipe import Caveat, Foreign, Metadata, Recipe, Setting
from sparkops.core.schema import Located
from sparkops.errors import UsageError

RUNTIMES = ("vllm", "eugr-vllm", "vllm-eugr", *parts.EXECUTORS)
ENGINES = {
    "sglang": "SGLang",
    "trtllm": "TensorRT-LLM",
    "llama-cpp": "llama.cpp",
    "atlas": "Atlas",
    "ds4-cuda": "ds4",
    "modular-max": "MAX",
    "tokenary": "Tokenary",
}
"""Runtimes of other engines, and the engines' names."""

VERSIONS = ("recipe_version", "sparkrun_version")
READ_AS = ("1", "2")
GIVE = "write its value into `defaults` of the recipe"
READ = (
    *("recipe_version", "sparkrun_version", "model", "model_revision", "runtime", "container", "command", "mods"),
    *("defaults", "env", "build_args", "cluster_only", "solo_only", "min_nodes", "max_nodes", "mode", "metadata"),
)
NEEDED = {
    "pre_exec": "commands in the container before the engine starts",
    "executor": "another way to start the engine than a container",
    "overrides": "settings that depend on the machine",
    "containers": "a separate image for each machine",
    "layout": "a layout over different machines",
    "cluster_config": "the recipe's own paths on the nodes",
}
"""Keys whose loss would change the engine."""

LEFT = {
    "post_exec": "commands that run after the engine is ready",
    "post_commands": "commands that run after the engine is ready",
    "builder_config": "options of the image build",
    "runtime_config": "options of sparkrun's runtime",
}
"""Keys that can be left out."""

MEANT = (*READ, *NEEDED, *LEFT, "include")
"""All keys that sparkrun interprets."""

PARALLEL = {"tensor_parallel": "tensor-parallel-size", "pipeline_parallel": "pipeline-parallel-size"}
PARALLEL |= {"data_parallel": "data-parallel-size"}
_CONFIG = re.compile(r"\{config\.([A-Za-z_][A-Za-z0-9_]*)\}")
_BACKEND = re.compile(rf"(--{parts.BACKEND}[ \t=]+)[\w-]+")
_LAUNCH = re.compile(r"\{launch\.[a-z_]+\}")


def read(name: str, document: Located, flags: FlagTable) -> Recipe:
    """A recipe from a file that sparkrun would take; other runtimes than vLLM are refused by name."""
    entries = parts.mapping(document)
    _runtime(entries)
    if "include" in entries:
        schema.fail(
            entries["include"], "include", "sparkops does not merge files; use the output of `sparkrun recipe export`"
        )
    given = _given(entries)
    env, left = parts.env(entries)
    env, unfilled = _filled(env, given)
    found = _serving(document, entries, given, flags, env)
    parts.required(document, "model", "container")
    unknown = carried.unknown(entries, (*MEANT, *parts.USED))
    caveats = (*_version(entries), *left, *unfilled, *_behind(entries), *unknown)
    foreign = Foreign("2", found.words, _keys(entries), caveats)
    return parts.recipe(name, document, found, env, flags, _metadata(entries), foreign)


def said_version(entries: parts.Entries) -> str:
    """The version that a file names; without one it is "2"."""
    said = next((entries[key] for key in VERSIONS if key in entries and entries[key].value is not None), None)
    return "2" if said is None else schema.text(said, VERSIONS[0]).strip().removesuffix(".0")


def _version(entries: parts.Entries) -> Iterator[Caveat]:
    if (version := said_version(entries)) not in READ_AS:
        place = next(entries[key] for key in VERSIONS if key in entries and entries[key].value is not None)
        said = schema.one_line(f"schema {version} is read as schema 2, as sparkrun does")
        yield Caveat(place.where, said, instead='write recipe_version: "2"')


def _runtime(entries: parts.Entries) -> None:
    runtime = (parts.text(entries, "runtime") or "").lower()
    if runtime and runtime not in RUNTIMES:
        engine = ENGINES.get(runtime, f"the runtime {runtime}")
        schema.fail(entries["runtime"], "runtime", f"the recipe serves with {engine}; sparkops serves with vLLM only")


def _given(entries: parts.Entries) -> dict[str, Any]:
    """Placeholder values: the defaults with their doubled braces made single, and the model."""
    given = parts.defaults(entries)
    for key, value in given.items():
        if isinstance(value, str) and "{{" in value:
            given[key] = value.replace("{{", "{").replace("}}", "}")
    model, revision = parts.text(entries, "model"), parts.text(entries, "model_revision")
    also = {"model": model, "model_revision": revision, "resolved_model_path": model}
    return {**{key: value for key, value in also.items() if value is not None}, **given}


def _serving(
    document: Located, entries: parts.Entries, given: dict[str, Any], flags: FlagTable, env: dict[str, Setting]
) -> Serving:
    located = entries.get("command")
    if located is None or located.value is None:
        place = entries.get("defaults", document)
        try:
            return command_text.command(place, shlex.join(_built(document, given, flags)), flags, env, "defaults")
        except TemplateError as error:
            schema.fail(place, "defaults", str(error))
    try:
        rendered, left = substituted(command_text.template(located, "command"), given)
    except TemplateError as error:
        schema.fail(located, "command", str(error))
    if (executor := given.get("distributed_executor_backend")) is not None:
        rendered = _flagged(_BACKEND.sub(rf"\g<1>{executor}", rendered), f"--{parts.BACKEND}", executor)
    if (name := given.get("served_model_name")) is not None:
        rendered = _flagged(rendered, "--served-model-name", name)
    try:
        found = command_text.command(located, rendered, flags, env)
    except UsageError:
        if left:
            schema.fail(located, "command", f"placeholder {{{left[0]}}} has no value in defaults")
        raise
    for name in dict.fromkeys(left):
        before = rendered.partition(f"{{{name}}}")[0].count("\n")
        where = command_text.lines(located, rendered).where(before)
        found.caveats.append(Caveat(where, f"placeholder {{{name}}} has no value in defaults", True, GIVE))
    return found


def _flagged(command: str, flag: str, value: Any) -> str:
    """The command with a flag at its end, if it does not have it."""
    return command if flag in command else f"{command.rstrip().rstrip(chr(92)).rstrip()} {flag} {value}\n"


def _built(document: Located, given: dict[str, Any], flags: FlagTable) -> list[str]:
    """The command of a recipe without one: each default that names a flag."""
    parts.required(document, "model")
    entries = parts.mapping(document)
    words = ["vllm", "serve", str(given["model"])]
    if (revision := parts.text(entries, "model_revision")) is not None:
        words += ["--revision", revision]
    for key, value in parts.defaults(entries).items():
        name = flags.canonical(f"--{PARALLEL.get(key, key)}")
        known = flags.find(name)
        if known is None or value is None:
            continue
        if known.nargs == "0":
            negative = [f"--no-{name}"] if known.negatable else []
            words += [f"--{name}"] if value else negative
        else:
            words += [f"--{name}", json.dumps(value) if isinstance(value, (dict, list)) else str(given.get(key, value))]
    return [substituted(word, given)[0] for word in words]


def _filled(env: dict[str, Setting], given: dict[str, Any]) -> tuple[dict[str, Setting], list[Caveat]]:
    """Variables with `{config.KEY}` replaced; what only the launcher knows is a caveat."""
    made, left = {}, []
    for name, setting in env.items():
        text = _CONFIG.sub(lambda found: str(given.get(found[1], found[0])), str(setting.value))
        made[name] = Setting(text, setting.origin)
        for unknown in (*_CONFIG.findall(text), *_LAUNCH.findall(text)):
            left.append(Caveat(setting.origin, f"variable {name} needs {unknown}, which only sparkrun knows", True))
    return made, left


def _behind(entries: parts.Entries) -> list[Caveat]:
    """Caveats about keys whose effect at run time sparkops does not have."""
    return [
        Caveat(
            entries[key].where,
            f"sparkops does not use the key {key} ({what})",
            key in NEEDED,
            carried.INSTEAD.get(key, ""),
        )
        for key, what in (NEEDED | LEFT).items()
        if key in entries and entries[key].value not in (None, "", (), {}, "docker")
    ]


def _keys(entries: parts.Entries) -> dict[str, Any]:
    keys = parts.kept(entries, READ)
    keys |= {key: seen(entries[key]) for key in ("runtime", "metadata") if key in entries}
    if args := parts.words(entries, "build_args"):
        keys["build_args"] = list(args)
    return keys


def _metadata(entries: parts.Entries) -> Metadata:
    """The description, from `metadata` or the top level."""
    found = entries.get("metadata")
    inner = found.value if found is not None and isinstance(found.value, dict) else {}
    said = parts.text(inner, "description") if "description" in inner else None
    return Metadata(description=" ".join((said or parts.text(entries, "description") or "").split()))
