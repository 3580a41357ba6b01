"""Synthetic plans over the simulated world, and what a node holds."""

import random
from typing import Any

from sparkops.core.plan import Action, Command, Phase, Plan, Script, Step, Wait
from sparkops.testing import SimulatedWorld

IMAGE = "some/engine:1"


def write(node: str, name: str) -> Step:
    do = Command((Script("file"), "write", f"/x/{name}", "644"), stdin="content")
    undo = Command((Script("file"), "remove", f"/x/{name}"))
    return Step(f"write.{node}.{name}", node, f"write {name}", Action(do), Action(undo))


def begin(node: str, name: str, *flags: str) -> Step:
    labels = ("--label", "sparkops.deployment=d", "--label", "sparkops.role=server", "--label", "sparkops.schema=1")
    words = (
        "docker",
        "run",
        "-d",
        "--name",
        name,
        *labels,
        "--restart",
        "unless-stopped",
        IMAGE,
        "serve",
        "--port",
        "8000",
        *flags,
    )
    undo = Command((Script("container"), "remove", name, "d", "/x"))
    return Step(f"start.{node}.{name}", node, f"start {name}", Action(Command(words)), Action(undo))


def load(node: str, world: SimulatedWorld, name: str, **limits: float) -> Step:
    url = f"http://{world.nodes[node].address}:8000/health"
    probe = Command((Script("probe"), name, "--api", url), reads=True)
    return Step(f"load.{node}.{name}", node, f"wait for {name}", Action(wait=Wait(probe, **limits)))


def halt(node: str, name: str) -> Step:
    """Stops what ran before; undoing it is starting it again."""
    do = Command((Script("container"), "stop", name, "d", "/x"))
    undo = Command((Script("container"), "start", name, "d", "/x"))
    return Step(f"stop.{node}.{name}", node, f"stop {name}", Action(do), Action(undo))


def held(world: SimulatedWorld) -> dict[str, Any]:
    """What matters of the nodes: files, containers and their states."""
    return {
        name: (
            {path for path in node.files if not path.startswith("/x/logs")},
            {one.name: one.state for one in node.engine.containers.values()},
        )
        for name, node in world.nodes.items()
    }


def replacing(world: SimulatedWorld, *, serial: bool = False) -> Plan:
    """The shape of a deploy: prepare, stop the old, start the new, wait for it."""
    nodes = tuple(world.nodes)
    phases = (
        Phase("prepare", tuple(write(node, name) for node in nodes for name in ("config", "key"))),
        Phase("stop the old", tuple(halt(node, "old") for node in nodes)),
        Phase("start the new", tuple(begin(node, "new") for node in nodes), serial=serial),
        Phase("wait", tuple(load(node, world, "new") for node in nodes)),
        Phase("settle", tuple(write(node, "last") for node in nodes)),
    )
    return Plan("deploy", None, phases)


def world_of(nodes: int = 2, **options: Any) -> SimulatedWorld:
    """Nodes on which the container `old` serves."""
    world = SimulatedWorld([f"spark{rank}" for rank in range(1, nodes + 1)], **options)
    for name, node in world.nodes.items():
        node.engine.add_image(IMAGE)
        node.run(begin(name, "old").do.command, "", 0.0)  # type: ignore[arg-type]
    return world


def dice(seed: int) -> random.Random:
    return random.Random(f"trouble {seed}")
