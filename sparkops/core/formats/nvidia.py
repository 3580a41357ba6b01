"""Recipes of NVIDIA/local-ai-inference-recipes: a `docker run`, then a `vllm serve` to type on each node."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sparkops.core import schema
from sparkops.core.flags import FlagTable
from sparkops.core.formats import carried, command_text, docker_run, nvidia_doubts, parts, sparkrun
from sparkops.core.formats.commandline import Serving
from sparkops.core.formats.docker_run import DockerRun
from sparkops.core.formats.nvidia_about import metadata
from sparkops.core.recipe import PARALLEL, RANKS, Foreign, Recipe, Setting
from sparkops.core.schema import Located

SCHEMA, KEY = "nvidia", "schema_version"
"""Our name for the format, and the key that only its files have."""

READ = (
    *("schema_version", "model", "hardware", "platform", "backend", "backend_version", "min_vidmem_gb", "variant"),
    *("validation", "limitations", "prerequisites", "precision", "checkpoint", "mtp", "spec_dec", "concurrency"),
    *("topology", "sampling", "security", "runtime", "serve", "launch", "backend_min_version", "clients"),
)
RUNTIME = ("kind", "label", "image", "image_url", "setup_label", "setup_target", "setup_instructions", "setup_command")
SERVE = ("label", "target", "instructions", "command", "port", "api_model", "additional_commands")
MACHINES = {
    "dgx-station": "DGX Station",
    "geforce-rtx": "GeForce RTX GPUs",
    "rtx-pro": "RTX PRO GPUs",
    "rtx-spark": "RTX Spark",
}
"""Ids of hardware that is no GB10, and its names (catalog/hardware of the repository, October 2026)."""

_SPARKS = re.compile(r"dgx-spark(?:-([1-9][0-9]{0,2})gpu)?")
_LONGEST_NAME = 100


def read(name: str, document: Located, flags: FlagTable) -> Recipe:
    """A recipe for one or more DGX Spark and vLLM; others are refused by the name of their engine or hardware."""
    entries = parts.mapping(document)
    nodes = _nodes(document, entries)
    runtime, serve = parts.inner(entries, "runtime"), parts.inner(entries, "serve")
    located = serve.get("command")
    if located is None or located.value is None:
        schema.fail(entries["serve"], "serve.command", "is required")
    setup = runtime.get("setup_command")
    started = docker_run.read(setup, "runtime.setup_command") if setup and setup.value else DockerRun()
    said = _translated(document, entries, started, nodes)
    env, left = parts.env(said)
    found = command_text.command(located, command_text.template(located, "serve.command"), flags, env, "serve.command")
    _sized(said, parts.inner(entries, "topology"), found, nodes)
    unknown = [*carried.unknown(entries, READ), *carried.unknown(runtime, RUNTIME), *carried.unknown(serve, SERVE)]
    doubts = nvidia_doubts.doubts(entries, started, found, flags, nodes)
    caveats = (*carried.repeated(document), *doubts, *left, *started.caveats, *unknown)
    name = _id(entries) if name == "recipe" else name
    foreign = Foreign(SCHEMA, found.words, caveats=caveats)
    recipe = parts.recipe(name, replace(document, value=said), found, env, flags, metadata(entries), foreign)
    return replace(recipe, args={flag: one for flag, one in recipe.args.items() if flag not in RANKS})


def _nodes(document: Located, entries: parts.Entries) -> int:
    """How many DGX Spark the recipe is for; refuses what is no recipe for them and vLLM."""
    if "backend" not in entries or "serve" not in entries:
        kind = "holds measured results" if "profiles" in entries else "has no `backend` and `serve`"
        hint = "give a file recipe.yaml of NVIDIA/local-ai-inference-recipes; its folder names the hardware"
        schema.fail(document, "", f"is no recipe: the file {kind}", hint)
    if (backend := parts.text(entries, "backend")) != "vllm":
        engine = sparkrun.ENGINES.get(backend or "", backend)
        schema.fail(entries["backend"], "backend", f"the recipe serves with {engine}; sparkops serves with vLLM only")
    parts.required(document, "hardware")
    hardware = str(parts.text(entries, "hardware"))
    found = _SPARKS.fullmatch(hardware)
    if found is None:
        machine = MACHINES.get(re.sub(r"-[0-9]+gpu$", "", hardware))
        meant = "" if machine else schema.did_you_mean(hardware, ("dgx-spark", "dgx-spark-2gpu", "dgx-spark-4gpu"))
        problem = f"the recipe is for {machine or hardware}; sparkops serves on DGX Spark and other GB10 only{meant}"
        schema.fail(entries["hardware"], "hardware", problem, "give the recipe of this model for dgx-spark")
    platform = parts.inner(entries, "platform")
    for key, usual in (("os", "linux"), ("execution", "container")):
        if (other := parts.text(platform, key) or usual) != usual:
            problem = f"must be {usual}, not {other}; sparkops runs vLLM in a container on Linux"
            schema.fail(platform[key], f"platform.{key}", problem)
    return int(found[1] or 1)


def _translated(document: Located, entries: parts.Entries, started: DockerRun, nodes: int) -> dict[str, Located]:
    """What the recipe says, by the keys of the other launchers' recipes."""
    runtime, checkpoint = parts.inner(entries, "runtime"), parts.inner(entries, "checkpoint")
    image = runtime.get("image") if parts.text(runtime, "image") else started.image
    if image is None:
        schema.fail(entries.get("runtime", document), "runtime.image", "is required")
    env = {name: value for name, value in started.env.items() if name not in nvidia_doubts.SET}
    setup, hardware = runtime.get("setup_command", image), entries["hardware"]
    said = {
        "container": image,
        "command": parts.inner(entries, "serve")["command"],
        "solo_only" if nodes == 1 else "cluster_only": replace(hardware, value=True, text=None),
        "env": replace(setup, value=env, text=None),
        "volumes": replace(setup, value=tuple(started.volumes), text=None),
        "executor_config": replace(setup, value=started.options, text=None),
    }
    if (target := checkpoint.get("target")) and (model := nvidia_doubts.hub_name(checkpoint, "target")):
        said["model"] = replace(target, value=model)
    return said


def _sized(said: dict[str, Located], topology: parts.Entries, found: Serving, nodes: int) -> None:
    """Give a command without parallel sizes those of `topology`; without any, a cluster takes the hardware's nodes."""
    if nodes == 1 or any(f"{way}-parallel-size" in found.args for way in PARALLEL):
        return
    size = parts.count(topology, "tensor_parallel_size")
    if size is None:
        said["min_nodes"] = said["max_nodes"] = replace(said["cluster_only"], value=nodes)
    else:
        found.args["tensor-parallel-size"] = Setting(size, topology["tensor_parallel_size"].where)
        found.words = (*found.words, "--tensor-parallel-size", str(size))


def _id(entries: Mapping[str, Any]) -> str:
    """A name for a file `recipe.yaml`: as in the repository's own ids, model, hardware, memory, precision, variant."""
    memory, model = parts.text(entries, "min_vidmem_gb"), parts.text(entries, "model") or ""
    said = (model.rpartition("/")[2], parts.text(entries, "hardware"), f"{memory}gb" if memory else None)
    more = (parts.text(parts.inner(entries, "precision"), "label"), parts.text(entries, "variant"))
    slugs = (re.sub(r"[^a-z0-9.]+", "-", one.lower()).strip("-.") for one in (*said, *more) if one)
    return "-".join(filter(None, slugs))[:_LONGEST_NAME]
