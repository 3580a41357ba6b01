"""Whole runs of the verbs over simulated nodes, with crashes, losses and interrupts at every send.

Whatever happens: no run ends in a wrong state, none in an unknown one that was not said, and the next deploy or stop
reaches its own right state from what is there. A stranger's container is never touched.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress

import pytest

from sparkops.asks import Answer
from sparkops.core.plan import Command
from sparkops.errors import Refused, SparkopsError, Unreachable, UsageError
from sparkops.testing import Crash, SimulatedWorld, Trouble
from sparkops.testing.operator import Operator
from sparkops.testing.sparks import IMAGES, MODELS, sparks

QWEN = "qwen3-next-80b-a3b-instruct-fp8"
GPT = "openai-gpt-oss-120b"
KINDS = ("lost-before", "lost-unapplied", "lost-applied", "crash-before", "crash-after", "interrupt")

Verb = Callable[[Operator], object]

WISHES: dict[str, Verb] = {
    "cluster": lambda person: person.deploy("cluster"),
    "2x-solo": lambda person: person.deploy("2x-solo"),
    "solo": lambda person: person.deploy("solo"),
    "qwen": lambda person: person.deploy("cluster", recipe=QWEN),
    "flag": lambda person: person.deploy("cluster", sets=("args.max-num-seqs=4",)),
}


def fresh(seed: int = 0) -> SimulatedWorld:
    world = sparks(seed=seed)
    for node in world.nodes.values():
        stranger = ("docker", "run", "-d", "--name", "stranger", "--restart", "unless-stopped", "--entrypoint=")
        assert node.run(Command((*stranger, IMAGES[1], "sleep")), "", 0.0).ok
    return world


def running(world: SimulatedWorld) -> set[tuple[str, str]]:
    """Every container of ours that is kept alive: (node, hash)."""
    return {
        (name, one.labels["sparkops.hash"])
        for name, node in world.nodes.items()
        for one in node.engine.listed(["label=sparkops.schema"])
        if one.state != "exited"
    }


def strangers_unharmed(world: SimulatedWorld) -> bool:
    return all(node.engine.containers["stranger"].running for node in world.nodes.values())


def noted(world: SimulatedWorld) -> bool:
    """What a node that was away may still run is written down on another."""
    return any("/orphans/" in path for node in world.nodes.values() for path in node.files)


def settled(world: SimulatedWorld) -> bool:
    """One revision at most runs, whole and answering, and at most one other is kept on each node."""
    hashes = {digest for _, digest in running(world)}
    if len(hashes) > 1:
        return False
    for node in world.nodes.values():
        stopped = {c.labels["sparkops.hash"] for c in node.engine.listed(["label=sparkops.schema"]) if not c.running}
        if len(stopped - hashes) > 1:
            return False
    states = Operator(world.survivors()).status().values()
    return set(states) <= {"serving", "stopped"}


@pytest.mark.parametrize("chunk", range(40))
def test_trouble_at_any_send_ends_in_a_right_or_a_said_state(chunk: int) -> None:
    for seed in range(chunk * 50, (chunk + 1) * 50):
        one_run(seed)


def one_run(seed: int) -> None:
    dice = random.Random(seed)
    world = fresh(seed)
    before = dice.choice(("nothing", *WISHES))
    if before != "nothing":
        WISHES[before](Operator(world))
    verb = dice.choice(("deploy", "deploy", "deploy", "stop", "rollback"))
    wish = dice.choice([name for name in WISHES if name != before])
    act: Verb = {"deploy": WISHES[wish], "stop": Operator.stop, "rollback": Operator.rollback}[verb]
    had = running(world)
    kind = dice.choice(KINDS)
    troubles = [Trouble(kind, dice.randint(1, 45), dice.choice((3.0, 30.0, 2000.0, float("inf"))))]  # type: ignore[arg-type]
    world = world.survivors(seed=seed, troubles=troubles)
    case = f"seed {seed}: {before} then {verb} {wish} with {troubles}"
    error: BaseException | None = None
    try:
        answer = act(Operator(world))
        error = answer.error if isinstance(answer, Answer) else None
    except (SparkopsError, Crash, KeyboardInterrupt) as raised:
        error = raised
    assert strangers_unharmed(world), case
    after = world.survivors()
    if error is None:
        assert settled(after) or noted(after), case
    elif isinstance(error, Refused):
        assert running(after) == had, case
    elif isinstance(error, SparkopsError) and verb == "deploy":
        told = f"{error.message} {error.hint}"
        assert running(after) == had or isinstance(error, Unreachable) or "unknown" in told or "could not" in told, case
    final = dice.choice(("deploy", "stop"))
    if final == "stop":
        Operator(after).stop()
        assert not running(after), case
    else:
        WISHES[wish](Operator(after))
        assert settled(after), case
        wanted = set(after.nodes) - ({"spark2"} if wish == "solo" else set())
        assert {node for node, _ in running(after)} == wanted, case
    assert strangers_unharmed(after), case


@pytest.mark.parametrize("wish", WISHES)
def test_the_same_deploy_again_changes_nothing_and_sends_no_changing_command(wish: str) -> None:
    world = fresh()
    WISHES[wish](Operator(world))
    again = world.survivors()
    plan = WISHES[wish](Operator(again))
    assert not plan.changes  # type: ignore[attr-defined]
    assert all(sent.command.reads for sent in again.sent)


def test_a_switch_to_fewer_nodes_stops_the_parts_on_the_others() -> None:
    world = fresh()
    Operator(world).deploy("cluster")
    Operator(world).deploy("solo")
    assert {node for node, _ in running(world)} == {"spark1"}


@pytest.mark.parametrize("nodes", [2, 8])
def test_the_number_of_waves_does_not_grow_with_the_nodes(nodes: int) -> None:
    names = tuple(f"spark{number}" for number in range(1, nodes + 1))
    world = SimulatedWorld(names)
    for node in world.nodes.values():
        node.engine.add_image(IMAGES[0])
        node.add_model(MODELS[0])
    Operator(world).deploy("cluster")
    assert world.connections == nodes
    assert world.waves == WAVES


WAVES = 7
"""Facts, then one for each phase of the plan: directories, key, memory, start, load, ask."""


def test_a_node_that_is_lost_in_the_middle_of_a_stop_does_not_keep_the_others_running() -> None:
    world = fresh()
    Operator(world).deploy("2x-solo")
    for at in range(3, 8):
        again = world.survivors(seed=at, troubles=[Trouble("lost-unapplied", at)])
        lost_before = len(running(again))
        with suppress(SparkopsError):
            Operator(again).stop()
        left = {node for node, _ in running(again)}
        assert len(left) <= 1 < lost_before, (at, left)
        world = fresh()
        Operator(world).deploy("2x-solo")


def test_stopping_by_name_what_was_stopped_before_is_no_error_but_a_slip_of_the_pen_is() -> None:
    world = fresh()
    Operator(world).deploy("solo")
    assert Operator(world).stop(GPT).document["changed"]
    again = Operator(world).stop(GPT)
    assert (again.code, again.document["removed"]) == (0, [])
    Operator(world).deploy("solo")
    with pytest.raises(UsageError, match=GPT):
        Operator(world).stop("openai-gpt-oss-120")
