"""What to serve and how, never where: a recipe, and its settings after topology, overrides and rules."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sparkops.core.flags import FlagTable, opposite, rendered
from sparkops.core.models import Architecture
from sparkops.core.schema import Located

MOUNTS: Mapping[str, tuple[str, str]] = {
    name: (f".cache/{name}", f"/root/.cache/{name}")
    for name in ("tiktoken_rs", "ccache", "flashinfer", "vllm", "huggingface")
}
"""The caches that a recipe names: their directories below the node's home, and in the container."""

PARALLEL = ("tensor", "pipeline", "data", "prefill-context")
"""The ways in which ranks share one model. A GB10 has one GPU, so their sizes multiplied are the nodes of a server."""

RANKS = (
    *("nnodes", "node-rank", "master-addr", "master-port", "headless"),
    *("data-parallel-rank", "data-parallel-start-rank", "data-parallel-address", "data-parallel-rpc-port"),
)
"""Flags that number the ranks of a cluster and say where they meet."""

PLACED = ("host", "port", *RANKS)
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


SECRET = re.compile(r"(?i)(.*_)?(API_?KEYS?|(MASTER|ACCESS|PRIVATE|SECRET)_KEY|TOKEN|SECRET|PASSWORD|CREDENTIALS)")
"""Variables whose values would stand in labels and logs if a recipe set them."""

_IMAGE = re.compile(r"[A-Za-z0-9][\w.:/@-]*")
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
class ValidatedStack:
    """The software with which the author tested a recipe; an empty text is "not said"."""

    driver: str = ""
    os: str = ""
    cuda: str = ""
    vllm: str = ""


PORTS = (1, 65534)
"""The ports that an endpoint may have: servers behind a proxy listen on the next one."""


@dataclass(frozen=True)
class Metadata:
    """What people want to know before they choose a recipe."""

    description: str = ""
    source: tuple[str, ...] = ()
    verified: str = ""
    hardware: str = ""
    weights_gib: float | None = None
    architecture: Architecture | None = None
    """Of a model that the table of models lacks, so that its KV cache is known."""
    when: tuple[str, ...] = ()
    when_not: tuple[str, ...] = ()
    trade_offs: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    """What a person does on a node before the first start."""

    tested_with: ValidatedStack | None = None
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
    port: int | None = None
    """The port of the endpoint; None leaves it to the inventory."""
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
        """How a command names this recipe: one of a directory `recipes` or of a catalogue by its name, else by path."""
        name, mark, choice = self.name.partition("#")
        own = self.source.rpartition(".")[0] == f"recipes/{name}" or self.catalogue
        return self.name if own else self.source + mark + choice

    @property
    def catalogue(self) -> str:
        """The catalogue that has this recipe, if its source is in one (`CATALOGUE@COMMIT/FILE`); else empty."""
        catalogue, _, rest = self.name.partition("/")
        return catalogue if rest and self.source.startswith(f"{catalogue}@") else ""


def written(recipe: Recipe) -> tuple[str, ...]:
    """The recipe's command line with address and port; another launcher's as that launcher renders it."""
    if recipe.foreign and recipe.foreign.words:
        return (*recipe.starts, *recipe.foreign.words[1:])
    return (*recipe.starts, "serve", recipe.model, *words(recipe.flags, recipe.args))


def words(flags: FlagTable, args: Settings) -> Iterator[str]:
    return (word for name, setting in args.items() for word in rendered(flags, name, setting.value))


def put(args: dict[str, Setting], name: str, setting: Setting) -> None:
    """Set one flag: a `no-` form replaces its other form, `flag.key` goes into its mapping."""
    name, *keys = name.split(".")
    args.pop(opposite(name), None)
    if keys:
        old = args[name].value if name in args else {}
        setting = replace(setting, value=_within(old if isinstance(old, Mapping) else {}, keys, setting.value))
    args[name] = setting


def image_problem(reference: str) -> str | None:
    """Why this is no image: messages name it inside commands, and Docker takes no other characters."""
    return None if _IMAGE.fullmatch(reference) else "must be an image's name, such as nvcr.io/nvidia/vllm:26.05-py3"


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
