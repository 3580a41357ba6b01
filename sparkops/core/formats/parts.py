"""What both schemas share: keys with their types, limits, variables, and the recipe that comes of them."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from sparkops.core import build, schema
from sparkops.core.flags import FlagTable
from sparkops.core.formats import carried, hub_paths, values
from sparkops.core.formats.commandline import Serving
from sparkops.core.recipe import Caveat, Foreign, Metadata, Nodes, Recipe, Setting, env_problem
from sparkops.core.schema import Located

Entries = Mapping[str, Located]
LEAST_CLUSTER = 2
USED = ("volumes", "executor_config", "distribution_config")
"""Keys that `recipe` reads for both schemas."""

EXECUTORS = {"vllm-ray": "ray", "eugr-vllm-ray": "ray", "vllm-distributed": "mp"}
"""Runtimes of sparkrun that say how the ranks of a cluster are started."""

BACKEND = "distributed-executor-backend"


def mapping(value: Located, path: str = "") -> Entries:
    """The entries of a mapping; as for both launchers, an empty list has none and a key may stand twice."""
    if value.value in (None, "", (), False):
        return {}
    return schema.entries(value, path)


def inner(entries: Entries, key: str) -> Entries:
    """The entries of the mapping below a key; none if the key is absent or null."""
    return mapping(entries[key], key) if key in entries else {}


def text(entries: Entries, key: str) -> str | None:
    """A key's text; a number as it is written; None if empty."""
    found = entries.get(key)
    if found is None or found.value is None:
        return None
    return schema.text(found, key).strip() or None


def truth(entries: Entries, key: str) -> bool:
    """True or false, also as text: launchers accept a quoted "true"."""
    found = entries.get(key)
    if found is None or found.value is None:
        return False
    word = str(values.seen(found)).lower()
    if word not in ("true", "yes", "on", "1", "false", "no", "off", "0", ""):
        schema.fail(found, key, f"must be true or false, not {word!r}")
    return word in ("true", "yes", "on", "1")


def count(entries: Entries, key: str) -> int | None:
    found = entries.get(key)
    if found is None or found.value is None:
        return None
    return schema.integer(found, key, 1, 10_000)


def words(entries: Entries, key: str) -> tuple[str, ...]:
    """A list of texts."""
    items = schema.listed(entries[key], key) if key in entries else ()
    return tuple(schema.text(item, f"{key}[{index}]") for index, item in enumerate(items))


def limits(entries: Entries) -> tuple[tuple[str, ...], Nodes]:
    """`solo_only`, `cluster_only`, `mode`, `min_nodes` and `max_nodes` as ours."""
    mode = text(entries, "mode") or "auto"
    if mode not in ("auto", "solo", "cluster"):
        schema.fail(entries["mode"], "mode", f"must be solo, cluster or auto, not {mode!r}")
    solo = truth(entries, "solo_only") or mode == "solo"
    cluster = truth(entries, "cluster_only") or mode == "cluster"
    if solo and cluster:
        key = "solo_only" if "solo_only" in entries else "mode"
        schema.fail(entries[key], key, "the recipe allows solo only and also cluster only, so no topology is left")
    least, most = count(entries, "min_nodes") or 1, count(entries, "max_nodes")
    if solo:
        least = most = 1
    if cluster:
        least = max(least, LEAST_CLUSTER)
    if most is not None and most < least:
        place = entries.get("max_nodes") or entries["min_nodes"]
        schema.fail(place, "max_nodes", f"{most} is less than the smallest allowed number of nodes ({least})")
    only = [kind for kind, chosen in (("solo", solo), ("cluster", cluster)) if chosen]
    return tuple(only), Nodes(least, most)


def env(entries: Entries) -> tuple[dict[str, Setting], list[Caveat]]:
    """Variables as the launcher passes them; secrets stay behind."""
    found, left = {}, []
    given = entries.get("env")
    for name, value in (mapping(given, "env") if given is not None else {}).items():
        if isinstance(value.value, (dict, tuple)):
            schema.fail(value, f"env.{name}", f"must be one value, not {schema.kind_of(value.value)}")
        if problem := env_problem(name):
            if not problem.startswith("is a secret"):
                schema.fail(value, f"env.{name}", problem)
            left.append(Caveat(value.where, f"{name} is dropped: it {problem}; keep it on the node", False))
        else:
            found[name] = Setting(str(values.seen(value)), value.where)
    return found, left


def defaults(entries: Entries) -> dict[str, Any]:
    """Placeholder values as the launcher sees them."""
    given = entries.get("defaults")
    return {key: values.seen(value) for key, value in mapping(given, "defaults").items()} if given else {}


def kept(entries: Entries, known: Iterable[str]) -> dict[str, Any]:
    """The values of keys that no field of ours has."""
    return {key: values.seen(value) for key, value in entries.items() if key not in set(known)}


def required(document: Located, *keys: str) -> None:
    entries = mapping(document)
    for key in keys:
        if text(entries, key) is None:
            schema.fail(document, key, "is required")


def recipe(
    name: str,
    document: Located,
    found: Serving,
    variables: Mapping[str, Setting],
    flags: FlagTable,
    metadata: Metadata,
    foreign: Foreign,
) -> Recipe:
    """The recipe: what was read, and the keys with the same meaning in both schemas."""
    entries = mapping(document)
    container, args, (only, nodes) = str(text(entries, "container")), words(entries, "build_args"), limits(entries)
    found, commit, variables = hub_paths.mapped(found, {**variables, **found.env})
    revision = text(entries, "model_revision") or commit
    mounts, left = carried.volumes(entries.get("volumes"), "volumes")
    left += carried.path_of_nothing(found, text(entries, "model"), mounts)
    _executor(entries, found)
    caveats = (
        *carried.repeated(document),
        *foreign.caveats,
        *found.caveats,
        *left,
        *_container(entries.get("executor_config")),
        *carried.distributed(entries.get("distribution_config"), found, revision, container),
    )
    return Recipe(
        name=name,
        source=document.file,
        model=found.model,
        container=container,
        flags=flags,
        revision=revision,
        args=found.args,
        env=variables,
        mounts=mounts,
        build=build.spark_vllm_docker(args) if args else {},
        mods=words(entries, "mods"),
        metadata=metadata,
        only=only,
        nodes=nodes,
        foreign=replace(foreign, words=found.words, program=found.program, caveats=caveats),
        places={key: value.where for key, value in entries.items()},
    )


def _executor(entries: Entries, found: Serving) -> None:
    """Keep the executor that the author chose by `runtime`, or by `--nnodes`, if the command names none."""
    nodes = found.args.get("nnodes")
    executor = EXECUTORS.get((text(entries, "runtime") or "").lower())
    if executor is not None:
        found.args.setdefault(BACKEND, Setting(executor, entries["runtime"].where))
    elif nodes is not None and str(nodes.value) != "1":
        found.args.setdefault(BACKEND, Setting("mp", nodes.origin))


def _container(given: Located | None) -> list[Caveat]:
    inner = given.value if given is not None and isinstance(given.value, dict) else {}
    return [*carried.options(given), *carried.volumes(inner.get("volumes"), "executor_config")[1]]
