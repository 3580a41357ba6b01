"""What to serve and how, never where: a recipe, and its settings after topology, overrides and rules."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sparkops.core import images, mods, schema
from sparkops.core.flags import FlagTable, opposite, rendered
from sparkops.core.images import KnownImage, Software
from sparkops.core.schema import Located
from sparkops.core.topology import Kind
from sparkops.errors import UsageError

MOUNTS: Mapping[str, tuple[str, str]] = {
    name: (f".cache/{name}", f"/root/.cache/{name}")
    for name in ("tiktoken_rs", "ccache", "flashinfer", "vllm", "huggingface")
}
"""The caches that a recipe names: their directories below the node's home, and in the container."""

PARALLEL = ("tensor", "pipeline", "data", "prefill-context")
"""The ways in which ranks share one model. A GB10 has one GPU, so their sizes multiplied are the nodes of a server."""

PLACED = (
    *("host", "port", "nnodes", "node-rank", "master-addr", "master-port", "headless"),
    *("data-parallel-rank", "data-parallel-start-rank", "data-parallel-address", "data-parallel-rpc-port"),
)
"""Flags that the placement sets; a recipe's values are not used."""

ADDRESSES = ("VLLM_HOST_IP", "RAY_ADDRESS", "RAY_NODE_IP_ADDRESS", "RAY_OVERRIDE_NODE_IP_ADDRESS", "MASTER_ADDR")
"""Variables that hold a node's address: one value for all nodes is wrong on all but one."""

VLLM = ("vllm",)
"""What starts the engine, if nothing wraps it."""

FORBIDDEN = {
    "api-key": "sparkops itself makes the API key and passes it to the engine (`sparkops key` prints it)",
    "hf-token": "a token would be readable in labels and logs; keep it on the node (`hf auth login`)",
    "model": "set the model in the recipe, or with --set model=…",
    "model-tag": "set the model in the recipe, or with --set model=…",
    "config": "write the flags of the file into the recipe, so that their origin is known",
}


SECRET = re.compile(r"(?i)(.*_)?(API_?KEY|MASTER_KEY|ACCESS_KEY|PRIVATE_KEY|TOKEN|SECRET|PASSWORD|CREDENTIALS)")
"""Variables whose values would stand in labels and logs if a recipe set them."""

CHOSEN = ("model", "revision", "container", "program")
"""Keys of a recipe that `--set` replaces."""

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True)
class Setting:
    """One effective flag or variable, and where it came from."""

    value: Any
    origin: str


Settings = Mapping[str, Setting]


@dataclass(frozen=True)
class Nodes:
    """How many nodes one server may span."""

    min: int = 1
    max: int | None = None


@dataclass(frozen=True)
class Layer:
    """What a topology changes, and nothing else."""

    args: Settings = field(default_factory=dict)
    env: Settings = field(default_factory=dict)


@dataclass(frozen=True)
class Benchmark:
    """The arguments of the benchmark tool, without address and model.

    `enabled` runs it after each deployment that changed something; `deploy --bench` runs it once.
    """

    enabled: bool = False
    framework: str = "llama-benchy"
    args: tuple[str, ...] = ()


@dataclass(frozen=True)
class Metadata:
    """What people want to know before they choose a recipe."""

    description: str = ""
    source: tuple[str, ...] = ()
    verified: str = ""
    hardware: str = ""
    weights_gib: float | None = None
    when: tuple[str, ...] = ()
    when_not: tuple[str, ...] = ()
    trade_offs: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    """What a person does on a node before the first start."""

    results: tuple[Located, ...] = ()
    """Reference tables inside the recipe, read when they are shown (`core.reference.table`)."""


@dataclass(frozen=True)
class Caveat:
    """What a recipe of another launcher requests and sparkops does not do, and what to write instead.

    With `refuse` the recipe cannot serve without it.
    """

    where: str
    text: str
    refuse: bool = False
    instead: str = ""


@dataclass(frozen=True)
class Foreign:
    """The parts of another launcher's recipe that ours do not have.

    `words` is the command line that its launcher renders, from `vllm serve` on, and `program` what stands there in
    place of `vllm`; `keys` have no field here and are kept for `recipe export`.
    """

    schema: str
    words: tuple[str, ...]
    keys: Mapping[str, Any] = field(default_factory=dict)
    caveats: tuple[Caveat, ...] = ()
    program: tuple[str, ...] = VLLM


@dataclass(frozen=True)
class Recipe:
    """A recipe with its parents merged in; `flags` is the table that its flags were spelled by."""

    name: str
    source: str
    model: str
    container: str
    flags: FlagTable = field(repr=False, compare=False)
    revision: str | None = None
    args: Settings = field(default_factory=dict)
    env: Settings = field(default_factory=dict)
    mounts: tuple[str, ...] = ()
    build: Mapping[str, Any] = field(default_factory=dict)
    mods: tuple[str, ...] = ()
    mod_sources: Mapping[str, str] = field(default_factory=dict)
    """The sources of mods that name one: a pinned repository, or a directory beside the recipe."""
    benchmark: Benchmark | None = None
    metadata: Metadata = field(default_factory=Metadata)
    only: tuple[str, ...] = ()
    nodes: Nodes = field(default_factory=Nodes)
    topologies: Mapping[str, Layer] = field(default_factory=dict)
    foreign: Foreign | None = None
    program: str | None = None
    """The words that start the engine in place of `vllm`, as the user chose them."""
    places: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)
    """`file:line` of each of the file's own keys."""

    @property
    def starts(self) -> tuple[str, ...]:
        """The words before `serve`: the user's, else those of another launcher's recipe, else `vllm`."""
        if self.program is not None:
            return tuple(self.program.split())
        return self.foreign.program if self.foreign else VLLM

    @property
    def target(self) -> str:
        """How a command names this recipe: a recipe of a directory `recipes` by its name, another one by its path."""
        return self.name if self.source.rpartition(".")[0] == f"recipes/{self.name}" else self.source


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

    @property
    def model(self) -> str:
        return self.recipe.model

    @property
    def known_image(self) -> KnownImage:
        """What is known of the image: from its own flags and packages if they were read, else from its name."""
        known, table = images.known(self.image), self.recipe.flags
        if table.exact and table.image in ("", self.image):
            known = images.with_flags(known, table.flags)
        return images.with_software(known, self.software) if self.software else known

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
        value = self.value(name)
        return value if isinstance(value, (int, float)) and not isinstance(value, bool) else default

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
    words = _words(effective.recipe.flags, effective.args)
    return (*effective.recipe.starts, "serve", effective.model, *revision, *words)


def written(recipe: Recipe) -> tuple[str, ...]:
    """The recipe's command line with address and port; another launcher's as that launcher renders it."""
    if recipe.foreign and recipe.foreign.words:
        return (*recipe.starts, *recipe.foreign.words[1:])
    return (*recipe.starts, "serve", recipe.model, *_words(recipe.flags, recipe.args))


def _words(flags: FlagTable, args: Settings) -> Iterator[str]:
    return (word for name, setting in args.items() for word in rendered(flags, name, setting.value))


def put(args: dict[str, Setting], name: str, setting: Setting) -> None:
    """Set one flag: a `no-` form replaces its other form, `flag.key` goes into its mapping."""
    name, *keys = name.split(".")
    args.pop(opposite(name), None)
    if keys:
        old = args[name].value if name in args else {}
        setting = replace(setting, value=_within(old if isinstance(old, Mapping) else {}, keys, setting.value))
    args[name] = setting


def env_problem(name: str) -> str | None:
    """Why a recipe cannot set this variable."""
    if SECRET.fullmatch(name):
        return "is a secret, and would be readable in labels and logs"
    return None if _VARIABLE.fullmatch(name) else "is not a valid name for a variable"


def _within(old: Mapping[str, Any], keys: Sequence[str], value: Any) -> dict[str, Any]:
    if len(keys) == 1:
        return {**old, keys[0]: value}
    below = old.get(keys[0])
    return {**old, keys[0]: _within(below if isinstance(below, Mapping) else {}, keys[1:], value)}


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
    elif key == "model" and value != recipe.model:  # revision and size are those of the recipe's own model
        return replace(recipe, model=value, revision=None, metadata=replace(recipe.metadata, weights_gib=None))
    elif key in CHOSEN:
        return replace(recipe, **{key: value})  # type: ignore[arg-type]
    else:
        raise UsageError(schema.one_line(f"--set {key}: no such setting{_meant(recipe, key)}"))
    return recipe


def _meant(recipe: Recipe, key: str) -> str:
    name = recipe.flags.canonical(f"--{key.removeprefix('--')}")
    if recipe.flags.find(name):
        return f" (did you mean args.{name}?)"
    return schema.did_you_mean(key, ("args.FLAG", "env.NAME", *CHOSEN))


def _given(flags: FlagTable, args: dict[str, Setting], name: str, setting: Setting) -> None:
    """A flag from the command line; what the placement decides cannot be overridden by it."""
    if problem := flags.problem(name, setting.value):
        raise UsageError(f"{setting.origin} --{name}: {problem}")
    base = opposite(name) if name.startswith("no-") else name
    if base in FORBIDDEN:
        raise UsageError(f"--{name}: {FORBIDDEN[base]}")
    if base in PLACED:
        where = "the inventory's api_port" if base == "port" else "the topology"
        raise UsageError(f"--{name} is set by {where} and cannot be changed with {setting.origin}")
    put(args, name, setting)
