"""Recipe files to recipes: what a file says, laid over what the files it extends say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from sparkops.core import schema
from sparkops.core.flags import FlagTable
from sparkops.core.recipe import (
    FORBIDDEN,
    MOUNTS,
    Benchmark,
    Layer,
    Metadata,
    Nodes,
    Recipe,
    Setting,
    Settings,
    env_problem,
    put,
)
from sparkops.core.schema import Located


@dataclass(frozen=True)
class _LayerFile:
    args: Mapping[str, Located] = field(default_factory=dict)
    env: Mapping[str, Located] = field(default_factory=dict)


@dataclass(frozen=True)
class _Topologies:
    solo: _LayerFile = field(default_factory=_LayerFile)
    cluster: _LayerFile = field(default_factory=_LayerFile)


@dataclass(frozen=True)
class _File:
    """A recipe file as it stands; None is "not said", which a parent may have said."""

    extends: str | None = None
    model: str | None = None
    revision: str | None = None
    container: str | None = None
    args: Mapping[str, Located] = field(default_factory=dict)
    env: Mapping[str, Located] = field(default_factory=dict)
    mounts: tuple[str, ...] | None = None
    build: Mapping[str, Any] | None = None
    mods: tuple[str, ...] | None = None
    benchmark: Benchmark | None = None
    metadata: Metadata = field(default_factory=Metadata)
    only: tuple[Literal["solo", "cluster"], ...] | None = None
    nodes: Nodes | None = None
    topologies: _Topologies = field(default_factory=_Topologies)


KEYS = tuple(_File.__dataclass_fields__)
INHERITED = ("model", "revision", "container", "mounts", "build", "mods", "benchmark", "only", "nodes")


def parent(document: Located) -> str | None:
    """The recipe that a file extends."""
    if (version := schema.mapping(document).get("recipe_version")) is not None:
        schema.fail(version, "recipe_version", "a recipe of spark-vllm-docker or sparkrun, which is not read yet")
    value = schema.mapping(document, known=KEYS).get("extends")
    return schema.text(value, "extends") if value is not None else None


def read(chain: Sequence[tuple[str, Located]], flags: FlagTable) -> Recipe:
    """A recipe from its file and the files it extends, nearest first.

    What a child says wins over all that a parent says, its topologies included.
    """
    made: dict[str, Any] = {"args": {}, "env": {}, "topologies": {}}
    for name, document in reversed(chain):
        prefix = "" if document is chain[0][1] else f"extends {name} "
        _lay(made, schema.build(_File, document), prefix, flags)
    name, document = chain[0]
    for key in ("model", "container"):
        if not made.get(key):
            schema.fail(document, key, "is required")
    return _checked(Recipe(name=name, source=document.file, flags=flags, **made), document)


def _lay(made: dict[str, Any], file: _File, prefix: str, flags: FlagTable) -> None:
    """One file over what its parents said."""
    made |= {key: getattr(file, key) for key in INHERITED if getattr(file, key) is not None}
    made["metadata"] = file.metadata
    said_args = _args(file.args, "args", prefix, flags)
    said_env = _env(file.env, "env", prefix)
    for name, setting in said_args:
        put(made["args"], name, setting)
    made["env"] |= said_env
    for kind in ("solo", "cluster"):
        layer = getattr(file.topologies, kind)
        path, origin = f"topologies.{kind}", f"{prefix}topology {kind} "
        old = _without(made["topologies"].get(kind, Layer()), dict(said_args), said_env)
        args = dict(_args(layer.args, f"{path}.args", origin, flags))
        made["topologies"][kind] = Layer({**old.args, **args}, {**old.env, **_env(layer.env, f"{path}.env", origin)})


def _without(old: Layer, args: Settings, env: Settings) -> Layer:
    """A parent's topology layer, less what the child says for all topologies."""
    spoken = {name.split(".")[0] for name in args}
    kept = {name: setting for name, setting in old.args.items() if name.split(".")[0] not in spoken}
    kept_env = {name: setting for name, setting in old.env.items() if name not in env}
    return Layer(kept, kept_env)


def _args(values: Mapping[str, Located], path: str, prefix: str, flags: FlagTable) -> list[tuple[str, Setting]]:
    made: dict[str, Setting] = {}
    for key, value in values.items():
        name = flags.canonical(f"--{key.lstrip('-')}")
        if name in made:
            schema.fail(value, f"{path}.{key}", f"--{name} is given twice ({made[name].origin})")
        if name in FORBIDDEN:
            schema.fail(value, f"{path}.{key}", FORBIDDEN[name])
        made[name] = Setting(flags.typed(name, schema.plain(value), value.text), prefix + value.where)
        if problem := flags.problem(name, made[name].value):
            schema.fail(value, f"{path}.{key}", problem)
    return list(made.items())


def _env(values: Mapping[str, Located], path: str, prefix: str) -> dict[str, Setting]:
    made = {}
    for key, value in values.items():
        if isinstance(value.value, (dict, tuple, schema.Opaque)):
            schema.fail(value, f"{path}.{key}", f"must be one value, not {schema.kind_of(value.value)}")
        if problem := env_problem(key):
            schema.fail(value, f"{path}.{key}", problem)
        made[key] = Setting(None if value.value is None else value.text or str(value.value), prefix + value.where)
    return made


def _checked(recipe: Recipe, document: Located) -> Recipe:
    for mount in recipe.mounts:
        if mount not in MOUNTS and not mount.startswith(("/", "~")):
            schema.fail(document, "mounts", f"unknown cache {mount}{schema.did_you_mean(mount, MOUNTS)}")
    most = recipe.nodes.max
    if recipe.nodes.min < 1 or (most is not None and most < recipe.nodes.min):
        schema.fail(document, "nodes", "min must be at least 1 and max at least min")
    return recipe
