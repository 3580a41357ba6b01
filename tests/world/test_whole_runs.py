"""Whole runs of the verbs over simulated nodes, with crashes, losses and interrupts at every send.

Whatever happens: no run ends in a wrong state, none in an unknown one that was not said, and the next deploy or stop
reaches its own right state from what is there. A stranger's container is never touched.
"""

import contextlib
import random
from pathlib import Path
from typing import Any

import pytest

from sparkops.core.plan import Command
from sparkops.testing import Crash, SimulatedWorld, Trouble
from sparkops.testing.sparks import IMAGES, MODELS, sparks
from support.person import Ran
from support.world import Lab

QWEN = "qwen3-next-80b-a3b-instruct-fp8"
KINDS = ("lost-before", "lost-unapplied", "lost-applied", "crash-before", "crash-after", "interrupt")
WISHES: dict[str, tuple[str, ...]] = {
    "cluster": ("cluster",),
    "2x-solo": ("2x-solo",),
    "solo": ("solo",),
    "qwen": ("cluster", "--recipe", QWEN),
    "flag": ("cluster", "--set", "args.max-num-seqs=4"),
}


def fresh(home: Path, seed: int = 0) -> Lab:
    lab = Lab(home, world=sparks(prefix="node", seed=seed))
    for node in lab.world.nodes.values():
        stranger = ("docker", "run", "-d", "--name", "stranger", "--restart", "unless-stopped", "--entrypoint=")
        assert node.run(Command((*stranger, IMAGES[1], "sleep")), "", 0.0).ok
    return lab


def running(lab: Lab) -> set[tuple[str, str]]:
    """Every container of ours that is kept alive: (node, hash)."""
    return {
        (name, one.labels["sparkops.hash"])
        for name, node in lab.world.nodes.items()
        for one in node.engine.listed(["label=sparkops.schema"])
        if one.state != "exited"
    }


def strangers_unharmed(lab: Lab) -> bool:
    return all(node.engine.containers["stranger"].running for node in lab.world.nodes.values())


def noted(lab: Lab) -> bool:
    """What a node that was away may still run is written down on another."""
    return any("/orphans/" in path for node in lab.world.nodes.values() for path in node.files)


def settled(lab: Lab) -> bool:
    """One revision at most runs, whole and answering, and at most one other is kept on each node."""
    hashes = {digest for _, digest in running(lab)}
    if len(hashes) > 1:
        return False
    for node in lab.world.nodes.values():
        stopped = {c.labels["sparkops.hash"] for c in node.engine.listed(["label=sparkops.schema"]) if not c.running}
        if len(stopped - hashes) > 1:
            return False
    return set(lab.state().values()) <= {"serving", "stopped"}


@pytest.mark.parametrize("chunk", range(20))
def test_trouble_at_any_send_ends_in_a_right_or_a_said_state(tmp_path: Path, chunk: int) -> None:
    for seed in range(chunk * 50, (chunk + 1) * 50):
        one_run(tmp_path / str(seed), seed)


def one_run(home: Path, seed: int) -> None:
    dice = random.Random(seed)
    lab = fresh(home, seed)
    before = dice.choice(("nothing", *WISHES))
    if before != "nothing":
        lab.deploy(*WISHES[before])
    verb = dice.choice(("deploy", "deploy", "deploy", "stop", "rollback"))
    wish = dice.choice([name for name in WISHES if name != before])
    had = running(lab)
    kind = dice.choice(KINDS)
    troubles = [Trouble(kind, dice.randint(1, 45), dice.choice((3.0, 30.0, 2000.0, float("inf"))))]  # type: ignore[arg-type]
    lab.anew(seed=seed, troubles=troubles)
    case = f"seed {seed}: {before} then {verb} {wish} with {troubles}"
    ran: Ran | None = None
    with contextlib.suppress(Crash):
        ran = lab.cli(verb, *(("--topology", *WISHES[wish]) if verb == "deploy" else ()), "--json")
    assert strangers_unharmed(lab), case
    lab.anew()
    if ran is not None:
        judge(lab, ran, verb, had, case)
    if dice.choice(("deploy", "stop")) == "stop":
        lab.json("stop")
        assert not running(lab), case
    else:
        lab.deploy(*WISHES[wish])
        assert settled(lab), case
        wanted = set(lab.names) - ({"node2"} if wish == "solo" else set())
        assert {node for node, _ in running(lab)} == wanted, case
    assert strangers_unharmed(lab), case


def judge(lab: Lab, ran: Ran, verb: str, had: set[tuple[str, str]], case: str) -> None:
    """What a run that came to its end may leave."""
    error: dict[str, Any] = ran.document.get("error") or {}
    told = f"{error.get('message')} {error.get('hint')}"
    if not error:
        assert settled(lab) or noted(lab), case
    elif error["kind"] == "refused":
        assert running(lab) == had, case
    elif verb == "deploy" and "is deployed and serves" in told:
        assert settled(lab), case
    elif verb == "deploy":
        said = error["kind"] == "unreachable" or "unknown" in told or "could not" in told
        assert running(lab) == had or said, case


@pytest.mark.parametrize("wish", WISHES)
def test_the_same_deploy_again_changes_nothing_and_sends_no_changing_command(tmp_path: Path, wish: str) -> None:
    lab = fresh(tmp_path)
    lab.deploy(*WISHES[wish])
    lab.mark()
    assert lab.deploy(*WISHES[wish])["changed"] is False
    assert lab.received()
    assert lab.changed() == []


def test_a_switch_to_fewer_nodes_stops_the_parts_on_the_others(lab: Lab) -> None:
    lab.deploy("cluster")
    lab.deploy("solo")
    assert {node for node, _ in running(lab)} == {"node1"}


@pytest.mark.parametrize("nodes", [2, 8])
def test_the_number_of_waves_does_not_grow_with_the_nodes(tmp_path: Path, nodes: int) -> None:
    world = SimulatedWorld([f"node{number}" for number in range(1, nodes + 1)])
    for node in world.nodes.values():
        node.engine.add_image(IMAGES[0])
        node.add_model(MODELS[0])
    Lab(tmp_path, world=world).deploy("cluster")
    assert (world.connections, world.waves) == (nodes, WAVES)


WAVES = 10
"""Connect, facts, each phase of the plan (directories, key, memory, start, load, ask), what is held, the boot logs."""


def test_a_node_that_is_lost_in_the_middle_of_a_stop_does_not_keep_the_others_running(tmp_path: Path) -> None:
    for at in range(3, 8):
        lab = fresh(tmp_path / str(at))
        lab.deploy("2x-solo")
        before = len(running(lab))
        lab.anew(seed=at, troubles=[Trouble("lost-unapplied", at)])
        lab.cli("stop")
        left = {node for node, _ in running(lab)}
        assert len(left) <= 1 < before, (at, left)


@pytest.mark.parametrize("verb", ["plan", "deploy"])
def test_a_setup_gets_nothing_for_what_would_be_refused_anyway(lab: Lab, verb: str) -> None:
    lab.cli("trust", "--yes", code=0)
    with lab.trouble("node1", "no-model"), lab.trouble("node1", "port-taken"):
        error = lab.json(verb, "--topology", "solo", "--limit", "node1", "--setup", code=3)["error"]
    assert "[ports-free]" in error["message"]
    assert "--allow" not in error["hint"]
    assert lab.changed() == []
