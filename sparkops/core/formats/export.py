"""A recipe as a file of each schema that starts the same engine: `recipe export`."""

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from itertools import pairwise
from typing import Any

from sparkops.core.effective import Effective, command_line
from sparkops.core.flags import FlagTable
from sparkops.core.formats import nvidia, parts, sparkrun
from sparkops.core.formats.text import Block, lines
from sparkops.core.formats.values import bare
from sparkops.core.recipe import MOUNTS, RANKS, VLLM, Benchmark, Metadata, Recipe, Setting, Settings, put, written
from sparkops.core.schema import one_line

SCHEMAS = ("1", "2", "sparkops")
PLACED = {
    "host": "host",
    "port": "port",
    "tensor-parallel-size": "tensor_parallel",
    "pipeline-parallel-size": "pipeline_parallel",
    "gpu-memory-utilization": "gpu_memory_utilization",
    "max-model-len": "max_model_len",
}
"""Flags that a launcher's own options change, so they are placeholders in its template."""

SPECIAL = re.compile(r'([\\"$`])')
_PLAIN = re.compile(r"[A-Za-z0-9_.:+-]+")
"""Words that templates and shells leave unchanged."""

_PLACEHOLDER = re.compile(r"\{\{|\{[A-Za-z_][A-Za-z0-9_.-]*\}")


def exported(recipe: Recipe, schema: str, effective: Effective | None = None) -> str:
    """The text of the file: the recipe itself, or its settings for a topology (`effective`)."""
    words = _without_ranks(recipe) if effective is None else command_line(effective)
    if effective is not None:
        recipe = replace(recipe, args=effective.args, env=effective.env, mounts=effective.mounts, topologies={})
    shape = _ours(recipe) if schema == "sparkops" else {"1": _one, "2": _two}[schema](recipe, words)
    head = one_line(f"# {recipe.name}, exported by sparkops")
    return "\n".join((head, *lines(shape), *_rest(recipe, schema), ""))


def _without_ranks(recipe: Recipe) -> Sequence[str]:
    """The recipe's command line; of NVIDIA's, which is typed on each node, without the flags that number the ranks.

    The other launchers set these; what remains of them is the executor.
    """
    words = written(recipe)
    if recipe.foreign is None or recipe.foreign.schema != nvidia.SCHEMA:
        return words
    start = words.index("serve") + 1
    given = [*recipe.flags.walk(words[start:])]
    ends = [*(one.index for one in given[1:]), len(words) - start]
    kept = [(one, words[start + one.index : start + end]) for one, end in zip(given, ends, strict=True)]
    made = [word for one, group in kept if one.name not in RANKS for word in group]
    named = parts.BACKEND in recipe.args and not any(one.name == parts.BACKEND for one in given)
    executor = (f"--{parts.BACKEND}", str(recipe.args[parts.BACKEND].value)) if named else ()
    return (*words[:start], *made, *executor)


def _keys(recipe: Recipe) -> dict[str, Any]:
    """The keys that another launcher's recipe has and ours does not, and `volumes` for mounts that no cache has."""
    mounts = [mount if ":" in mount else f"{mount}:{mount}" for mount in recipe.mounts if mount not in MOUNTS]
    return {**_given(volumes=mounts), **(recipe.foreign.keys if recipe.foreign else {})}


def _one(recipe: Recipe, words: Sequence[str]) -> dict[str, Any]:
    keys = _keys(recipe)
    backend = recipe.args.get(parts.BACKEND)
    if backend is not None and backend.origin == recipe.places.get("runtime"):
        words = (*words, f"--{parts.BACKEND}", str(backend.value))
    template, defaults = _template(recipe.flags, words, True, {})
    return {
        "recipe_version": "1",
        "name": _text(keys.pop("name", None)) or recipe.name,
        **_given(description=recipe.metadata.description, model=_text(keys.pop("model", None)) or recipe.model),
        "container": recipe.container,
        **_limits(recipe),
        **_given(mods=list(recipe.mods), build_args=keys.pop("build_args", []), defaults=defaults),
        **_given(env={name: SPECIAL.sub(r"\\\1", str(one.value)) for name, one in recipe.env.items()}),
        **_given(model_revision=recipe.revision, **_nodes(recipe, 2 if recipe.only == ("cluster",) else 1)),
        **{key: value for key, value in keys.items() if key not in ("runtime", "metadata")},
        "command": template,
    }


def _two(recipe: Recipe, words: Sequence[str]) -> dict[str, Any]:
    keys = _keys(recipe)
    if recipe.foreign and recipe.foreign.schema == "1":
        keys = {key: value for key, value in keys.items() if key == "build_args" or key not in sparkrun.MEANT}
    keys.pop("name", None)
    doubled = any(_PLACEHOLDER.search(word) for word in words)
    template, defaults = _template(recipe.flags, words, doubled, {recipe.model: "model"})
    keys.pop("model", None)
    return {
        "recipe_version": "2",
        "model": recipe.model,
        **_given(model_revision=recipe.revision),
        "runtime": keys.pop("runtime", "vllm"),
        "container": recipe.container,
        **_nodes(recipe),
        **_limits(recipe),
        **_given(metadata={**_given(description=recipe.metadata.description), **_mapping(keys.pop("metadata", {}))}),
        **_given(mods=list(recipe.mods), build_args=keys.pop("build_args", []), defaults=defaults),
        **_given(env={name: str(one.value) for name, one in recipe.env.items()}),
        **keys,
        "command": template,
    }


def _ours(recipe: Recipe) -> dict[str, Any]:
    sources = recipe.mod_sources
    mods = [{"name": mod, "source": sources[mod]} if mod in sources else mod for mod in recipe.mods]
    layers = {kind: _given(args=_values(one.args), env=_values(one.env)) for kind, one in recipe.topologies.items()}
    nodes = asdict(recipe.nodes)
    return {
        **_given(metadata=_metadata(recipe.metadata), model=recipe.model, revision=recipe.revision),
        "container": recipe.container,
        **_given(program="" if recipe.starts == VLLM else " ".join(recipe.starts)),
        **_given(port=recipe.port),
        **_given(build=dict(recipe.build), mods=mods, only=list(recipe.only)),
        **_given(nodes=nodes if nodes != {"min": 1, "max": None} else {}, mounts=list(recipe.mounts)),
        **_given(args=_as_taken(recipe.args), env=_values(recipe.env)),
        **_given(topologies={kind: said for kind, said in layers.items() if said}),
        **_given(benchmark=_benchmark(recipe.benchmark)),
    }


def _as_taken(args: Settings) -> dict[str, Any]:
    """Flags as the engine uses them: `--flag.key` replaces a whole `--flag {…}`."""
    dotted = {name.partition(".")[0] for name in args if "." in name}
    made: dict[str, Setting] = {name: one for name, one in args.items() if name not in dotted and "." not in name}
    for name, setting in args.items():
        if "." in name:
            put(made, name, setting)
    return _values(made)


def _benchmark(found: Benchmark | None) -> dict[str, Any]:
    return {} if found is None else {**asdict(found), "args": list(found.args)}


def _template(
    flags: FlagTable, words: Sequence[str], doubled: bool, names: Mapping[str, str]
) -> tuple[Block, dict[str, Any]]:
    """A command over several lines, with the placeholders that a launcher's options fill."""
    defaults: dict[str, Any] = {}
    start = words.index("serve") + 1
    model = f"{{{names[words[start]]}}}" if words[start] in names else _shell(words[start], doubled)
    made = [" ".join((*(_shell(word, doubled) for word in words[:start]), model))]
    rest = list(words[start + 1 :])
    starts = [given.index for given in flags.walk(rest)]
    for start, end in pairwise((*starts, len(rest))):
        group = rest[start:end]
        key = PLACED.get(flags.canonical(group[0]))
        if key and len(group) == 2 and key not in defaults and _PLAIN.fullmatch(group[1]):
            defaults[key] = _value(group[1])
            made.append(f"{_shell(group[0], doubled)} {{{key}}}")
        else:
            made.append(" ".join(_shell(word, doubled) for word in group))
    return Block(" \\\n  ".join(made) + "\n"), defaults


def _value(word: str) -> Any:
    """The value that prints as this word: 0.7 is a number, 0.70 is text."""
    value = bare(word)
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) and str(value) == word else word


def _shell(word: str, doubled: bool) -> str:
    quoted = shlex.quote(word)
    return quoted.replace("{", "{{").replace("}", "}}") if doubled else quoted


def _limits(recipe: Recipe) -> dict[str, Any]:
    return {f"{kind}_only": True for kind in ("solo", "cluster") if recipe.only == (kind,)}


def _nodes(recipe: Recipe, usual: int = 1) -> dict[str, Any]:
    least = recipe.nodes.min if recipe.nodes.min > usual else None
    return _given(min_nodes=least, max_nodes=recipe.nodes.max)


def _values(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {name: setting.value for name, setting in settings.items()}


def _metadata(metadata: Metadata) -> dict[str, Any]:
    said = {name.replace("_", "-"): value for name, value in asdict(metadata).items()}
    said["tested-with"] = _given(**(said["tested-with"] or {}))
    return _given(**{name: list(value) if isinstance(value, tuple) else value for name, value in said.items()})


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value.strip() else None


def _mapping(value: Any) -> dict[str, Any]:
    return dict(value) if isinstance(value, Mapping) else {}


def _given(**entries: Any) -> dict[str, Any]:
    """The entries that are not empty."""
    return {key: value for key, value in entries.items() if value not in (None, "", [], {}, ())}


def _rest(recipe: Recipe, schema: str) -> list[str]:
    """What our own schema does not have, as comments: the keys, and what a deploy of the original would warn of."""
    if schema != "sparkops" or recipe.foreign is None:
        return []
    keys = {key: value for key, value in recipe.foreign.keys.items() if key not in ("build_args", "runtime", "name")}
    said = [f"# {key}: {json.dumps(value, default=str)}" for key, value in keys.items()]
    left = [one_line(f"# {one.where.rpartition('/')[2]}: {one.text}") for one in recipe.foreign.caveats]
    return [
        *(["", f"# Keys of schema {recipe.foreign.schema} that sparkops recipes do not have:", *said] if said else []),
        *(["", "# Not carried over:", *left] if left else []),
    ]
