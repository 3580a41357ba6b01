"""Recipe files to recipes: what a file says, laid over what the files it extends say."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from sparkops.core import node_paths, schema
from sparkops.core.flags import FlagTable
from sparkops.core.recipe import (
    FORBIDDEN,
    MOUNTS,
    PORTS,
    Benchmark,
    Layer,
    Metadata,
    Nodes,
    Recipe,
    Setting,
    Settings,
    env_problem,
    image_problem,
    put,
)
from sparkops.core.schema import Located
from sparkops.errors import UsageError


@dataclass(frozen=True)
class _LayerFile:
    args: Mapping[str, Located] = field(default_factory=dict)
    env: Mapping[str, Located] = field(default_factory=dict)


@dataclass(frozen=True)
class _Topologies:
    solo: _LayerFile = field(default_factory=_LayerFile)
    cluster: _LayerFile = field(default_factory=_LayerFile)


@dataclass(frozen=True)
class RecipeFile:
    """The content of a recipe file; None if a key is missing, so that a parent's value is used."""

    extends: str | None = None
    model: str | None = None
    revision: str | None = None
    container: str | None = None
    program: str | None = None
    port: int | None = None
    args: Mapping[str, Located] = field(default_factory=dict)
    env: Mapping[str, Located] = field(default_factory=dict)
    mounts: tuple[str, ...] | None = None
    build: Mapping[str, Any] | None = None
    mods: tuple[Located, ...] | None = None
    benchmark: Benchmark | None = None
    metadata: Metadata = field(default_factory=Metadata)
    only: tuple[Literal["solo", "cluster"], ...] | None = None
    nodes: Nodes | None = None
    topologies: _Topologies = field(default_factory=_Topologies)


MOST_FLAGS = 1000
KEYS = tuple(RecipeFile.__dataclass_fields__)
INHERITED = (
    *("model", "revision", "container", "program", "port", "mounts", "build", "mods", "benchmark", "only", "nodes"),
)

FOREIGN = ("recipe_version", "sparkrun_version", "command", "runtime", "defaults", "schema_version", "variants")
"""Keys that only recipes of other launchers have."""


def is_foreign(document: Located) -> bool:
    """Whether a file is a recipe of another launcher."""
    return isinstance(document.value, dict) and any(key in document.value for key in FOREIGN)


SIGNS = (
    {"recipe_version"},
    {"sparkrun_version"},
    {"schema_version", "model", "backend"},
    {"variants", "model"},
    {"container", "model"},
    {"container", "command"},
    {"runtime", "model"},
    {"command", "model"},
)
"""Keys that together make a file of YAML a recipe, of any launcher; `extends` does so beside keys of ours."""


def is_recipe(document: Located) -> bool:
    """Whether a file of someone's repository is meant as a recipe."""
    keys = set(document.value) if isinstance(document.value, dict) else set()
    return any(signs <= keys for signs in SIGNS) or ("extends" in keys and keys <= {*KEYS})


def has_variants(document: Located) -> bool:
    """Whether a file describes several ways to serve a model, as those of recipes.vllm.ai do."""
    return isinstance(document.value, dict) and "variants" in document.value


def parent(document: Located) -> str | None:
    """The recipe that a file extends."""
    if is_foreign(document):
        return None
    value = schema.mapping(document, known=KEYS).get("extends")
    return schema.text(value, "extends") if value is not None else None


def read(chain: Sequence[tuple[str, Located]], flags: FlagTable, base: Recipe | None = None) -> Recipe:
    """A recipe from its file and the files it extends, nearest first; `base` is the last parent if that is foreign.

    A child's settings win over all of a parent's, also over those of the parent's topologies.
    """
    made: dict[str, Any] = {"args": {}, "env": {}, "topologies": {}} if base is None else _inherited(base)
    for name, document in reversed(chain):
        prefix = "" if document is chain[0][1] else f"extends {name} "
        _lay(made, schema.build(RecipeFile, document), prefix, flags)
    name, document = chain[0]
    for key in ("model", "container"):
        if not made.get(key):
            schema.fail(document, key, "is required")
    made["places"] = {key: value.where for key, value in schema.mapping(document).items()}
    return _checked(Recipe(name=name, source=document.file, flags=flags, **made), document)


def image_checked(recipe: Recipe) -> Recipe:
    """The recipe of any schema; raises UsageError if its container is no image."""
    if problem := image_problem(recipe.container):
        place = recipe.places.get("container", recipe.source)
        raise UsageError(schema.one_line(f"{place}: container: {problem}, not {recipe.container!r}"))
    return recipe


def _inherited(base: Recipe) -> dict[str, Any]:
    """What a recipe of another launcher gives to one that extends it; its own command line is no longer what runs."""
    said = {key: getattr(base, key) for key in (*INHERITED, "mod_sources")}
    foreign = base.foreign and replace(base.foreign, words=(), keys={})
    return {**said, "args": dict(base.args), "env": dict(base.env), "topologies": {}, "foreign": foreign}


def _lay(made: dict[str, Any], file: RecipeFile, prefix: str, flags: FlagTable) -> None:
    """Lay one file's settings over those of its parents (`made`)."""
    made |= {key: getattr(file, key) for key in INHERITED if getattr(file, key) is not None}
    if file.mods is not None:
        made["mods"], made["mod_sources"] = _mods(file.mods)
    made["metadata"] = file.metadata
    said_args = _args(file.args, "args", prefix, flags)
    said_env = _env(file.env, "env", prefix)
    for name, setting in said_args.items():
        put(made["args"], name, setting)
    made["env"] |= said_env
    for kind in ("solo", "cluster"):
        layer = getattr(file.topologies, kind)
        path, origin = f"topologies.{kind}", f"{prefix}topology {kind} "
        old = _without(made["topologies"].get(kind, Layer()), said_args, said_env)
        args = {**old.args, **_args(layer.args, f"{path}.args", origin, flags)}
        made["topologies"][kind] = Layer(args, {**old.env, **_env(layer.env, f"{path}.env", origin)})


def _without(old: Layer, args: Settings, env: Settings) -> Layer:
    """A parent's topology layer, less what the child says for all topologies."""
    given = {name.split(".")[0] for name in args}
    kept = {name: setting for name, setting in old.args.items() if name.split(".")[0] not in given}
    return Layer(kept, {name: setting for name, setting in old.env.items() if name not in env})


def _mods(given: Sequence[Located]) -> tuple[tuple[str, ...], dict[str, str]]:
    """The names of mods, and the sources of those given as `{name, source}` instead of a text."""
    names, sources = [], {}
    for index, mod in enumerate(given):
        path = f"mods[{index}]"
        if isinstance(mod.value, dict):
            entries = schema.mapping(mod, path, ("name", "source"))
            if "name" not in entries:
                schema.fail(mod, f"{path}.name", "is required")
            names.append(schema.text(entries["name"], f"{path}.name"))
            if "source" in entries:
                sources[names[-1]] = schema.text(entries["source"], f"{path}.source")
        else:
            names.append(schema.text(mod, path))
    return tuple(names), sources


def _args(values: Mapping[str, Located], path: str, prefix: str, flags: FlagTable) -> dict[str, Setting]:
    made: dict[str, Setting] = {}
    if len(values) > MOST_FLAGS:
        schema.fail(next(iter(values.values())), path, f"has more than {MOST_FLAGS} flags")
    for key, value in values.items():
        name = flags.canonical(f"--{key.lstrip('-')}")
        if name in made:
            schema.fail(value, f"{path}.{key}", f"--{name} is given twice (first in {made[name].origin})")
        if name in FORBIDDEN:
            schema.fail(value, f"{path}.{key}", FORBIDDEN[name])
        made[name] = Setting(flags.typed(name, schema.plain(value), value.text), prefix + value.where)
        if problem := flags.problem(name, made[name].value):
            schema.fail(value, f"{path}.{key}", problem)
    return made


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
    if recipe.program is not None and not recipe.program.split():
        schema.fail(document, "program", "must be the words that start the engine, such as `vllm`")
    for mount in recipe.mounts:
        if mount not in MOUNTS and not mount.startswith(("/", "~")):
            schema.fail(document, "mounts", f"unknown cache {mount}{schema.did_you_mean(mount, MOUNTS)}")
        if mount not in MOUNTS and (problem := node_paths.mount_problem(mount)):
            raise UsageError(schema.one_line(f"{recipe.places.get('mounts', recipe.source)}: mounts: {problem}"))
    if recipe.port is not None and not PORTS[0] <= recipe.port <= PORTS[1]:
        schema.fail(document, "port", f"must be between {PORTS[0]} and {PORTS[1]}, not {recipe.port}")
    if (shape := recipe.metadata.architecture) and shape.problem:
        schema.fail(document, "metadata.architecture", shape.problem)
    most = recipe.nodes.max
    if recipe.nodes.min < 1 or (most is not None and most < recipe.nodes.min):
        schema.fail(document, "nodes", "min must be 1 or more, and max must not be less than min")
    return recipe
