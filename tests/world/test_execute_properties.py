"""Whatever goes wrong, and wherever: the nodes are as they were, or what is not known is said."""

import pytest

from sparkops.core.plan import Event, Phase, Plan
from sparkops.remote.execute import execute
from sparkops.testing import Crash, Trouble
from support.plans import begin, dice, halt, held, replacing, world_of, write

SEEDS = range(400)
SENDS = 24


def plan_of(world, draw):
    """Random phases of writing files, stopping the old and starting new containers, and waits."""
    phases = []
    for number in range(draw.randint(1, 5)):
        steps = [
            draw.choice((write, begin))(node, f"p{number}s{at}")
            for node in world.nodes
            for at in range(draw.randint(0, 3))
        ]
        draw.shuffle(steps)
        phases.append(Phase(f"phase {number}", tuple(steps), serial=draw.random() < 0.3))
    old = tuple(halt(node, "old") for node in world.nodes)
    phases.insert(draw.randrange(len(phases) + 1), Phase("stop the old", old))
    return Plan("deploy", None, tuple(phase for phase in phases if phase.steps))


def draw_run(seed, kinds, away=(float("inf"),)):
    draw = dice(seed)
    trouble = Trouble(draw.choice(kinds), draw.randint(1, SENDS), draw.choice(away))
    world = world_of(draw.randint(1, 4), seed=seed, troubles=[trouble])
    return world, plan_of(world, draw), trouble


def effects(plan, before, after):
    """The ids of steps that can be seen in what the nodes hold now and did not hold before."""
    left = set()
    for step in plan.steps:
        node, name = step.node, step.id.rsplit(".", 1)[1]
        files, containers = after[node]
        if step.id.startswith("write") and f"/x/{name}" in files:
            left.add(step.id)
        if step.id.startswith("start") and name in containers:
            left.add(step.id)
        if step.id.startswith("stop") and containers["old"] != before[node][1]["old"]:
            left.add(step.id)
    return left


def sent_of(world, step):
    return [one for one in world.sent if one.node == step.node and one.command == step.do.command]


@pytest.mark.parametrize("seed", SEEDS[::8])
def test_an_interrupt_restores_what_was(seed):
    world, plan, _ = draw_run(seed, ("interrupt",))
    before = held(world)
    outcome = execute(plan, world, lambda _: None)
    if outcome.status == "done":
        return
    assert outcome.status == "interrupted"
    assert held(world) == before
    assert not outcome.stuck
    assert not outcome.unknown


@pytest.mark.parametrize("first", SEEDS[::50])
def test_after_any_loss_the_reachable_are_restored_and_what_is_left_elsewhere_is_said(first):
    for seed in range(first, first + 50):
        kinds = ("lost-before", "lost-applied", "lost-unapplied")
        world, plan, trouble = draw_run(seed, kinds, away=(0.01, 0.2, 5.0, float("inf")))
        before = held(world)
        events: list[Event] = []
        outcome = execute(plan, world, events.append)
        if outcome.status == "done":
            continue
        assert outcome.status == "lost"
        left = effects(plan, before, held(world))
        assert left <= {*outcome.stuck, *outcome.unknown}, (seed, trouble)
        lost = {failure.node for failure in outcome.failures}
        others = [node for node in world.nodes if node not in lost]
        after = held(world)
        assert {node: after[node] for node in others} == {node: before[node] for node in others}, seed
        for step in plan.steps:
            assert len(sent_of(world, step)) <= 1, "no step is sent twice"
        unsure = [event for event in events if event.kind == "lost" and "is unknown" in event.text]
        assert set(outcome.unknown) <= {event.step for event in unsure}


@pytest.mark.parametrize("first", SEEDS[::50])
def test_after_a_crash_nothing_more_is_sent_and_every_effect_was_journalled(first):
    for seed in range(first, first + 50):
        world, plan, trouble = draw_run(seed, ("crash-before", "crash-after"))
        before = held(world)
        journal: list[str | None] = []

        def emit(event: Event, journal: list[str | None] = journal) -> None:
            if event.kind == "start":
                journal.append(event.step)

        try:
            execute(plan, world, emit)
        except Crash:
            assert len(world.sent) == (trouble.at - 1 if trouble.kind == "crash-before" else trouble.at)
        assert effects(plan, before, held(world)) <= set(journal)


def test_equal_seeds_give_equal_runs():
    def sent(seed):
        world, plan, _ = draw_run(seed, ("lost-applied",))
        execute(plan, world, lambda _: None)
        return [(one.node, one.command) for one in world.sent]

    assert [sent(seed) for seed in range(20)] == [sent(seed) for seed in range(20)]


def test_different_seeds_interleave_the_nodes_differently():
    def order(seed):
        world = world_of(3, seed=seed)
        execute(replacing(world), world, lambda _: None)
        return tuple(one.node for one in world.sent)

    assert len({order(seed) for seed in range(10)}) > 5
