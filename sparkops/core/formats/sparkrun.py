"""Recipes of sparkrun, schema "2": `{key}` until nothing changes, or no command at all and `defaults` as flags."""

import json
import re
import shlex
from typing import Any

from sparkops.core import schema
from sparkops.core.flags import FlagTable
from sparkops.core.formats import parts
from sparkops.core.formats.commandline import Serving
from sparkops.core.formats.template import TemplateError, substituted
from sparkops.core.formats.values import seen
from sparkops.core.recipe import Caveat, Foreign, Metadata, Recipe, Setting
from sparkops.core.schema import Located
from sparkops.errors import UsageError

RUNTIMES = ("", "vllm", "vllm-ray", "vllm-distributed", "eugr-vllm", "eugr-vllm-ray", "vllm-eugr")
READ = (
    *("recipe_version", "sparkrun_version", "model", "model_revision", "runtime", "container", "command", "mods"),
    *("defaults", "env", "build_args", "cluster_only", "solo_only", "min_nodes", "max_nodes", "mode", "metadata"),
)
NEEDED = {
    "pre_exec": "commands in the container before the engine starts",
    "overrides": "settings that depend on the machine",
    "containers": "a separate image for each machine",
    "layout": "a layout over different machines",
    "cluster_config": "the recipe's own paths on the nodes",
}
"""Keys whose loss would change the engine."""

LEFT = {
    "post_exec": "commands that run after the engine is ready",
    "post_commands": "commands that run after the engine is ready",
    "executor_config": "options of the container",
    "builder_config": "options of the image build",
}
"""Keys that can be left out."""

MEANT = (*READ, *NEEDED, *LEFT, "include")
"""All keys that sparkrun interprets."""

PARALLEL = {"tensor_parallel": "tensor-parallel-size", "pipeline_parallel": "pipeline-parallel-size"}
PARALLEL |= {"data_parallel": "data-parallel-size"}
_CONFIG = re.compile(r"\{config\.([A-Za-z_][A-Za-z0-9_]*)\}")
_LAUNCH = re.compile(r"\{launch\.[a-z_]+\}")


def read(name: str, document: Located, flags: FlagTable) -> Recipe:
    """A recipe from a file that sparkrun would take; other runtimes than vLLM are refused by name."""
    entries = schema.mapping(document)
    _runtime(entries)
    if "include" in entries:
        schema.fail(
            entries["include"], "include", "sparkops does not merge files; use the output of `sparkrun recipe export`"
        )
    for key in ("model", "container"):
        if parts.text(entries, key) is None:
            schema.fail(document, key, "is required")
    given = _given(entries)
    found = _serving(document, entries, given, flags)
    env, left = parts.env(entries)
    env, unknown = _filled(env, given)
    foreign = Foreign("2", found.words, _keys(entries), (*left, *unknown, *_behind(entries), *found.caveats))
    return parts.recipe(name, document, found, env, flags, _metadata(entries), foreign)


def _runtime(entries: parts.Entries) -> None:
    runtime = (parts.text(entries, "runtime") or "").lower()
    if runtime not in RUNTIMES:
        schema.fail(entries["runtime"], "runtime", f"is {runtime}; sparkops serves with vLLM only")


def _given(entries: parts.Entries) -> dict[str, Any]:
    """Placeholder values: the defaults with their doubled braces made single, and the model."""
    given = parts.defaults(entries)
    for key, value in given.items():
        if isinstance(value, str) and "{{" in value:
            given[key] = value.replace("{{", "{").replace("}}", "}")
    model, revision = parts.text(entries, "model"), parts.text(entries, "model_revision")
    also = {"model": model, "model_revision": revision, "resolved_model_path": model}
    return {**{key: value for key, value in also.items() if value is not None}, **given}


def _serving(document: Located, entries: parts.Entries, given: dict[str, Any], flags: FlagTable) -> Serving:
    template = entries.get("command")
    if template is None or template.value is None:
        place = entries.get("defaults", document)
        try:
            return parts.command(place, shlex.join(_built(entries, given, flags)), flags, "defaults")
        except TemplateError as error:
            schema.fail(place, "defaults", str(error))
    try:
        rendered, left = substituted(schema.text(template, "command"), given)
    except TemplateError as error:
        schema.fail(template, "command", str(error))
    if (name := given.get("served_model_name")) is not None and "--served-model-name" not in rendered:
        rendered = f"{rendered.rstrip().rstrip(chr(92)).rstrip()} --served-model-name {name}\n"
    try:
        found = parts.command(template, rendered, flags)
    except UsageError:
        if left:
            schema.fail(template, "command", f"placeholder {{{left[0]}}} has no value in defaults")
        raise
    found.caveats += [Caveat(template.where, f"placeholder {{{name}}} has no value in defaults", True) for name in left]
    return found


def _built(entries: parts.Entries, given: dict[str, Any], flags: FlagTable) -> list[str]:
    """The command of a recipe without one: each default that names a flag."""
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
        Caveat(entries[key].where, f"sparkops does not use the key {key} ({what})", key in NEEDED)
        for key, what in (NEEDED | LEFT).items()
        if key in entries and entries[key].value not in (None, "", (), {})
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
