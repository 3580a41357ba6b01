"""What will run: a recipe's settings after topology, overrides and rules."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from sparkops.core import images, models, mods, schema
from sparkops.core.flags import FlagTable, amount, opposite
from sparkops.core.images import KnownImage, Software
from sparkops.core.models import KnownModel
from sparkops.core.recipe import (
    FORBIDDEN,
    PARALLEL,
    PLACED,
    PORTS,
    Layer,
    Recipe,
    Setting,
    Settings,
    env_problem,
    image_problem,
    put,
    words,
)
from sparkops.core.topology import Kind
from sparkops.errors import UsageError

_BROKEN_JSON = re.compile(r"\{(?![{%#])")
"""What is read as JSON where it can be; a chat template may also begin with a brace (`{%`, `{{`, `{#`)."""

CHOSEN = ("model", "revision", "container", "program", "port")
"""Keys of a recipe that `--set` replaces."""


@dataclass(frozen=True)
class Overrides:
    """What the command line changes: `--set KEY=VALUE`, and the words after `--`."""

    sets: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()


@dataclass(frozen=True)
class Effective:
    """What will run: a recipe after extends, topology, `--set`, `--` and rules."""

    recipe: Recipe
    image: str
    args: Settings
    env: Settings
    mounts: tuple[str, ...]
    software: Software | None = None
    """What a node found in the image; None before a node was asked."""
    on_node: KnownModel | None = None
    """The model as the files on a node describe it; None before a node was asked."""

    @property
    def model(self) -> str:
        return self.recipe.model

    @property
    def own_flags(self) -> bool:
        """Whether the table of flags was read from the image."""
        return self.recipe.flags.exact and self.recipe.flags.image in ("", self.image)

    @property
    def known_image(self) -> KnownImage:
        """What is known of the image: from its own flags and packages if they were read, else from its name."""
        known = images.known(self.image)
        if self.own_flags:
            known = images.with_flags(known, self.recipe.flags.flags)
        return images.with_software(known, self.software) if self.software else known

    @property
    def known_model(self) -> KnownModel | None:
        """What is known of the served model: from the table, else from the recipe, else from its files on a node."""
        about = self.recipe.metadata
        if found := models.known(self.model):
            return found
        if about.architecture:
            return models.of(self.model, about.architecture, about.weights_gib or 0, self.recipe.source)
        return self.on_node

    @property
    def only_on_node(self) -> bool:
        """Whether nothing but its files on a node describes the model: without nodes, rules know nothing of it."""
        return self.on_node is not None and self.known_model is self.on_node

    @property
    def served_name(self) -> str:
        """The name clients ask for; the engine's default is the model's own."""
        names = self.value("served-model-name") or self.model
        return str(names[0] if isinstance(names, (list, tuple)) else names)

    def value(self, name: str, default: Any = None) -> Any:
        """An argument's value, a boolean's `no-` form included."""
        if name in self.args:
            return self.args[name].value
        return False if opposite(name) in self.args else default

    def number(self, name: str, default: float) -> float:
        found = amount(self.value(name))
        return default if found is None else found

    def parallel(self, way: str) -> int:
        """The parallel size of one of the ways in `PARALLEL`."""
        return max(1, int(self.number(f"{way}-parallel-size", 1)))

    @property
    def sizes(self) -> Mapping[str, int]:
        """The parallel sizes that are set, by way."""
        return {way: self.parallel(way) for way in PARALLEL if f"{way}-parallel-size" in self.args}

    @property
    def span(self) -> int | None:
        """How many nodes one server takes by its parallel sizes; None if none is set."""
        return math.prod(self.sizes.values()) if self.sizes else None

    @property
    def experts(self) -> bool | None:
        """Whether the model is a mixture of experts; None if unknown."""
        return self.known_model.experts if self.known_model else None

    @property
    def exchanges(self) -> bool:
        """Whether ranks exchange parts of layers, or tokens of experts, within what CUDA graphs capture."""
        return self.parallel("tensor") > 1 or (self.parallel("data") > 1 and self.experts is not False)

    @property
    def mxfp4_layers(self) -> tuple[str, ...]:
        """The layers that the mxfp4 image quantises while loading."""
        layers = self.value("mxfp4-layers")
        names = tuple(name.strip() for name in layers.split(",")) if isinstance(layers, str) else ()
        return ("moe", "qkv", "o", "lm_head") if "all" in names else names

    @property
    def compilation(self) -> Mapping[str, Any]:
        """The keys of `compilation-config`."""
        value = self.value("compilation-config")
        return value if isinstance(value, Mapping) else {}

    @property
    def eager(self) -> bool:
        """Whether the engine captures no CUDA graphs."""
        mode = str(self.compilation.get("cudagraph_mode", "")).upper()
        return self.value("enforce-eager") is True or mode.rpartition(".")[2] == "NONE"


def effective(recipe: Recipe, kind: Kind, overrides: Overrides) -> Effective:
    """The settings of a recipe under a topology and the command line; rules come after."""
    layer = recipe.topologies.get("cluster" if kind == "cluster" else "solo", Layer())
    args, env = dict(recipe.args), dict(recipe.env)
    for name, setting in layer.args.items():
        put(args, name, setting)
    env |= layer.env
    for text in overrides.sets:
        recipe = _override(recipe, args, env, text)
    for name, value in recipe.flags.parse(overrides.extra):
        _given(recipe.flags, args, name, Setting(value, "--"))
    unset = {name for name, setting in args.items() if setting.value is None or setting.value is False}
    shown = {name: setting for name, setting in args.items() if name not in PLACED and name not in unset}
    known = {name: setting for name, setting in env.items() if setting.value is not None}
    chosen = any(text.startswith("container=") for text in overrides.sets)
    image = recipe.container if chosen else mods.derived(recipe.container, recipe.mods)
    return Effective(recipe, image, shown, known, recipe.mounts)


def command_line(effective: Effective, snapshot: str | None = None) -> tuple[str, ...]:
    """The engine's command line without what the placement adds; `snapshot` is the commit that the nodes have."""
    pinned = "" if "revision" in effective.args else snapshot or effective.recipe.revision
    revision = ("--revision", pinned) if pinned else ()
    flags = words(effective.recipe.flags, effective.args)
    return (*effective.recipe.starts, "serve", effective.model, *revision, *flags)


def _override(recipe: Recipe, args: dict[str, Setting], env: dict[str, Setting], text: str) -> Recipe:
    """One `--set`: a flag (`null` removes it), a variable (empty removes it), or another key (`CHOSEN`)."""
    key, equals, value = text.partition("=")
    if not equals:
        raise UsageError(f"--set {text}: must be KEY=VALUE, such as args.max-model-len=65536")
    section, dot, name = key.partition(".")
    if dot and name and section == "args":
        flag = recipe.flags.canonical(f"--{name.lstrip('-')}")
        _given(recipe.flags, args, flag, Setting(recipe.flags.typed(flag, schema.scalar(value), value), "--set"))
    elif dot and name and section == "env":
        if problem := env_problem(name):
            raise UsageError(f"--set {key}: {problem}")
        env[name] = Setting(value or None, "--set")
    elif key in CHOSEN and not value.strip():
        raise UsageError(f"--set {key}=: needs a value")
    elif key == "container" and (problem := image_problem(value)):
        raise UsageError(schema.one_line(f"--set {text}: {problem}"))
    elif key == "port":
        return replace(recipe, port=_port(value))
    elif key == "model" and value != recipe.model:  # these are of the recipe's own model
        about = replace(recipe.metadata, weights_gib=None, architecture=None)
        return replace(recipe, model=value, revision=None, metadata=about)
    elif key in CHOSEN:
        return replace(recipe, **{key: value})  # type: ignore[arg-type]
    else:
        raise UsageError(schema.one_line(f"--set {key}: no such setting{_meant(recipe, key)}"))
    return recipe


def _port(text: str) -> int:
    number = schema.scalar(text)
    if isinstance(number, bool) or not isinstance(number, int) or not PORTS[0] <= number <= PORTS[1]:
        raise UsageError(schema.one_line(f"--set port={text}: must be a number from {PORTS[0]} to {PORTS[1]}"))
    return number


def _meant(recipe: Recipe, key: str) -> str:
    name = recipe.flags.canonical(f"--{key.removeprefix('--')}")
    if recipe.flags.find(name):
        return f" (did you mean args.{name}?)"
    return schema.did_you_mean(key, ("args.FLAG", "env.NAME", *CHOSEN))


def _given(flags: FlagTable, args: dict[str, Setting], name: str, setting: Setting) -> None:
    """A flag from the command line; what the placement decides cannot be overridden by it."""
    problem = flags.problem(name, setting.value)
    if isinstance(setting.value, str) and _BROKEN_JSON.match(setting.value):
        problem = f"is no valid JSON: {setting.value}; in a shell, put single quotes around all of it"
    if problem:
        raise UsageError(schema.one_line(f"{setting.origin} --{name}: {problem}"))
    base = opposite(name) if name.startswith("no-") else name
    if base in FORBIDDEN:
        raise UsageError(f"--{name}: {FORBIDDEN[base]}")
    if base in PLACED:
        where = "the option --port" if base == "port" else "the topology"
        raise UsageError(f"--{name} is set by {where} and cannot be changed with {setting.origin}")
    put(args, name, setting)
