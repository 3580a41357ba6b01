"""Where the parts of a recipe of NVIDIA do not agree, and what each node needs that the recipe cannot know."""

import math
from collections.abc import Iterator

from sparkops.core import needs, schema
from sparkops.core.flags import FlagTable
from sparkops.core.formats import command_text, parts
from sparkops.core.formats.commandline import Serving
from sparkops.core.formats.docker_run import DockerRun
from sparkops.core.formats.server_command import shortened
from sparkops.core.recipe import PARALLEL, RANKS, Caveat
from sparkops.core.schema import Located

KNOWN = ("3", "4")
"""Values of `schema_version` seen until October 2026."""

HUB = "https://huggingface.co/"
SET = ("HEAD_IP", "NODE_RANK", "MASTER_PORT", "MASTER_ADDR", "NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME", "NCCL_IB_HCA")
"""Variables that differ from node to node and for which sparkops has another way or the right value."""

HEADS = "sparkops gives every rank the flags of serve.command"


def doubts(
    entries: parts.Entries, started: DockerRun, found: Serving, flags: FlagTable, nodes: int
) -> Iterator[Caveat]:
    """One caveat for each cause."""
    yield from _version(entries["schema_version"])
    yield from _image(entries, started)
    yield from _per_node(started, found)
    yield from _models(parts.inner(entries, "checkpoint"), found)
    yield from _sizes(entries["hardware"], found, nodes)
    yield from _workers(parts.inner(entries, "serve"), found, flags)
    yield from _alternatives(parts.inner(entries, "launch"))


def hub_name(checkpoint: parts.Entries, key: str) -> str | None:
    """The name of a model on the hub, from its address."""
    address = parts.text(checkpoint, key)
    if address is None or not address.startswith(HUB):
        return None
    return "/".join(address.removeprefix(HUB).strip("/").split("/")[:2])


def _version(said: Located) -> Iterator[Caveat]:
    version = schema.text(said, "schema_version").strip()
    if version not in KNOWN:
        text = schema.one_line(f"schema_version {version} is read as {KNOWN[-1]}")
        yield Caveat(said.where, text, instead="check with `sparkops recipe show` that the command is right")


def _image(entries: parts.Entries, started: DockerRun) -> Iterator[Caveat]:
    runtime = parts.inner(entries, "runtime")
    image = parts.text(runtime, "image")
    if started.image and image and started.image.value != image:
        text = f"docker run starts {started.image.value}; sparkops uses runtime.image, {image}"
        instead = f"to use the other image: --set container={started.image.value}"
        yield Caveat(started.image.where, schema.one_line(text), instead=schema.one_line(instead))


def _per_node(started: DockerRun, found: Serving) -> Iterator[Caveat]:
    """What a person fills in on each node: sparkops sets one part, and the rest is not set."""
    ranks = {f"--{flag}": found.args[flag].origin for flag in RANKS if flag in found.args}
    variables = {name: one.where for name, one in started.env.items() if name in SET}
    variables |= {name: one.where for name, one in started.by_hand.items()}
    ours = ranks | {name: where for name, where in variables.items() if name in SET}
    if ours:
        text = f"sparkops sets ranks, addresses and interfaces for each node itself, in place of {', '.join(ours)}"
        yield Caveat(next(iter(ours.values())), text, instead="nothing to do: each node gets its own values")
    if unset := {name: where for name, where in variables.items() if name not in SET}:
        text = f"sparkops does not set {', '.join(unset)}, for which the recipe gives no value"
        instead = f"vLLM's ranks need none of them; if the image does: --set env.{next(iter(unset))}=VALUE"
        yield Caveat(next(iter(unset.values())), schema.one_line(text), instead=schema.one_line(instead))


def _models(checkpoint: parts.Entries, found: Serving) -> Iterator[Caveat]:
    used = {found.model, *(one.name.model for one in needs.further(found.model, _plain(found)))}
    for key in ("target", "draft"):
        name = hub_name(checkpoint, key)
        if name is not None and name not in used:
            text = f"checkpoint.{key} is {name}, but the command does not name it"
            instead = f"to serve it: --set model={name}" if key == "target" else "name it in --speculative-config"
            yield Caveat(checkpoint[key].where, schema.one_line(text), instead=schema.one_line(instead))


def _sizes(hardware: Located, found: Serving, nodes: int) -> Iterator[Caveat]:
    sizes = [found.args[f"{way}-parallel-size"].value for way in PARALLEL if f"{way}-parallel-size" in found.args]
    span = math.prod(size for size in sizes if isinstance(size, int))
    if sizes and span != nodes:
        text = f"hardware {hardware.value} has {nodes} GPUs, but the parallel sizes of the command take {span}"
        instead = f"to use {nodes} nodes: --set args.tensor-parallel-size={nodes}"
        yield Caveat(hardware.where, text, instead=instead)


def _workers(serve: parts.Entries, found: Serving, flags: FlagTable) -> Iterator[Caveat]:
    """A caveat for each further command that says more than the head's, ranks aside."""
    given = serve.get("additional_commands")
    for index, item in enumerate(schema.listed(given, "serve.additional_commands") if given else ()):
        path = f"serve.additional_commands[{index}]"
        entries = parts.mapping(item, path)
        command = entries.get("command")
        if command is None or command.value is None:
            continue
        if parts.text(entries, "target") != "workers":
            said = shortened(" ".join(schema.text(command, f"{path}.command").split()))
            said = schema.one_line(f"sparkops does not run the further command `{said}`")
            yield Caveat(command.where, said, instead="run it yourself after the deploy")
            continue
        text = command_text.template(command, f"{path}.command")
        other = command_text.command(command, text, flags, {}, f"{path}.command")
        if differing := list(_differing(found, other)):
            said = f"the workers' command differs from the head's in {', '.join(differing)}; {HEADS}"
            yield Caveat(command.where, schema.one_line(said), instead="write what all ranks need into one command")


def _differing(head: Serving, worker: Serving) -> Iterator[str]:
    """The flags and variables with another value in the worker's command, less those that number the ranks."""
    mine, theirs = _plain(head), _plain(worker)
    yield from ("model" for _ in range(head.model != worker.model))
    for name in sorted({*mine, *theirs} - set(RANKS)):
        if mine.get(name) != theirs.get(name):
            yield f"--{name}"
    env, other = ({name: one.value for name, one in side.env.items()} for side in (head, worker))
    yield from sorted(name for name in {*env, *other} if env.get(name) != other.get(name))


def _plain(found: Serving) -> dict[str, object]:
    return {name: one.value for name, one in found.args.items()}


def _alternatives(launch: parts.Entries) -> Iterator[Caveat]:
    given = launch.get("alternatives")
    others = schema.listed(given, "launch.alternatives") if given else ()
    ids = [parts.text(parts.mapping(one, "launch.alternatives"), "id") or "?" for one in others]
    if given is not None and ids:
        text = f"the recipe has other ways to launch ({', '.join(ids)}); sparkops uses the first"
        instead = "to use another, write its image and flags into a recipe of your own that extends this one"
        yield Caveat(given.where, schema.one_line(text), instead=instead)
