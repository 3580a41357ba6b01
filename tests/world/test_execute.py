"""What executing a plan does when all goes well, when something fails, and when somebody presses Ctrl-C."""

from dataclasses import replace

import pytest

from sparkops.core.plan import Action, Command, Event, Phase, Plan, Script, Step, Wait
from sparkops.remote.execute import SILENT, execute
from sparkops.testing import BootRule, Crash, EngineBoot, SimulatedWorld, Trouble
from support.plans import begin, halt, held, load, replacing, world_of, write


def run(plan, world):
    events: list[Event] = []
    return execute(plan, world, events.append), events


def kinds(events, kind):
    return [event.step for event in events if event.kind == kind]


def sent_scripts(world):
    return [sent.command.words[0] for sent in world.sent]


def test_a_plan_is_done_phase_by_phase_and_every_send_is_announced_before():
    world = world_of()
    plan = replacing(world)
    journal: list[tuple[str, str | None, int]] = []
    outcome = execute(plan, world, lambda event: journal.append((event.kind, event.step, len(world.sent))))
    assert outcome.status == "done"
    assert set(outcome.sent) == {step.id for step in plan.steps}
    phases = [step for kind, step, _ in journal if kind == "phase"]
    assert phases == [phase.name for phase in plan.phases]
    starts = [(step, before) for kind, step, before in journal if kind == "start"]
    assert len(starts) == len(plan.steps)
    assert all(not _was_sent(world.sent[:before], plan, step) for step, before in starts)


def _was_sent(sent, plan, step_id):
    step = next(step for step in plan.steps if step.id == step_id)
    return step.do.command is not None and any(one.node == step.node and one.command == step.do.command for one in sent)


def test_a_failed_step_undoes_everything_that_was_sent_in_reverse():
    world = world_of()
    before = held(world)
    plan = replacing(world)
    bad = Step("bad", "spark1", "fail", Action(Command(("nonsense",))))
    plan = replace(plan, phases=(*plan.phases, Phase("bad", (bad,))))
    outcome, events = run(plan, world)
    assert outcome.status == "failed"
    assert [failure.step for failure in outcome.failures] == ["bad"]
    assert outcome.failures[0].reason == "exit code 127"
    assert "not found" in outcome.failures[0].evidence
    assert held(world) == before
    undone = [step for step in kinds(events, "undone") if step and "spark1" in step]
    assert undone == [
        "write.spark1.last",
        "start.spark1.new",
        "stop.spark1.old",
        "write.spark1.key",
        "write.spark1.config",
    ]


def test_a_failure_on_one_node_ends_the_wait_of_the_other(crashing):
    world = world_of()
    world.boot(crashing, BootRule.flag("--slow", EngineBoot(never=True)))
    phases = (
        Phase("start", (begin("spark1", "new", "--bad"), begin("spark2", "new", "--slow"))),
        Phase("wait", (load("spark1", world, "new"), load("spark2", world, "new"))),
    )
    outcome, events = run(Plan("deploy", None, phases), world)
    assert outcome.status == "failed"
    assert [failure.node for failure in outcome.failures] == ["spark1"]
    assert "Docker is restarting it" in outcome.failures[0].reason
    assert "RuntimeError: out of memory" in outcome.failures[0].evidence
    assert kinds(events, "skipped") == ["load.spark2.new"]
    assert world.now() < 60


def test_steps_of_other_nodes_that_were_not_sent_are_skipped():
    world = world_of()
    steps = [Step("bad", "spark1", "fail", Action(Command(("nonsense",))))]
    steps += [write("spark2", f"file{at}") for at in range(20)]
    outcome, events = run(Plan("deploy", None, (Phase("one", tuple(steps)),)), world)
    skipped = kinds(events, "skipped")
    assert skipped
    assert not set(skipped) & set(outcome.sent)
    assert held(world)["spark2"] == (set(), {"old": "running"})


def test_progress_is_told_when_the_evidence_changes_and_stalls_end_the_wait():
    world = world_of()
    world.boot(BootRule.flag("--slow", EngineBoot(never=True, log=("one", "two", "three"), looks=99)))
    phases = (
        Phase("start", (begin("spark1", "new", "--slow"),)),
        Phase("wait", (load("spark1", world, "new", stall=30.0),)),
    )
    outcome, events = run(Plan("deploy", None, phases), world)
    assert outcome.failures[0].reason.startswith("nothing changed for 30 s")
    assert outcome.failures[0].evidence == "one\ntwo\nthree"
    assert len(kinds(events, "progress")) == 3


class SlowAnswers(SimulatedWorld):
    """Every command takes 150 seconds, as the first request to an engine that compiles its kernels."""

    def send(self, node, command, cancel):
        for _ in range(15):
            self.pause(10.0, cancel)
        return super().send(node, command, cancel)


def test_a_wait_whose_one_probe_takes_long_says_so_each_minute():
    probe = Command((Script("serving"), "--api", "http://192.0.2.1:8000"), reads=True)
    step = Step("ask", "spark1", "ask", Action(wait=Wait(probe, stall=20.0, deadline=60.0)))
    _, events = run(Plan("deploy", None, (Phase("ask", (step,)),)), SlowAnswers())
    told = [event.text for event in events if event.kind == "progress"]
    assert told[:2] == ["wait no answer yet"] * 2


def test_when_one_node_fails_the_others_are_looked_at_once_more_for_the_cause():
    world = world_of()
    world.boot(BootRule.flag("--bad", EngineBoot(crashes=True, log=("boom",))))
    nodes = ("spark1", "spark2")
    phases = (
        Phase("start", tuple(begin(node, "new", "--bad") for node in nodes)),
        Phase("wait", tuple(load(node, world, "new") for node in nodes)),
    )
    outcome, _ = run(Plan("deploy", None, phases), world)
    assert sorted(failure.node for failure in outcome.failures) == list(nodes)
    assert {failure.evidence for failure in outcome.failures} == {"boom"}


def test_a_wait_ends_at_its_deadline_although_something_changes():
    world = world_of()
    world.boot(BootRule.flag("--slow", EngineBoot(never=True, looks=9999, log=tuple(map(str, range(9999))))))
    phases = (
        Phase("start", (begin("spark1", "new", "--slow"),)),
        Phase("wait", (load("spark1", world, "new", deadline=100.0),)),
    )
    outcome, _ = run(Plan("deploy", None, phases), world)
    assert outcome.failures[0].reason.startswith("not ready after 100 s")


def test_a_probe_that_answers_nonsense_ends_the_wait_after_three_tries():
    world = world_of()
    wait = Wait(Command(("true",), reads=True))
    outcome, _ = run(Plan("deploy", None, (Phase("p", (Step("w", "spark1", "wait", Action(wait=wait)),)),)), world)
    assert "without an answer" in outcome.failures[0].reason
    assert len(world.sent) == 3


def test_a_verb_that_stops_on_failure_undoes_nothing():
    world = world_of()
    bad = Step("bad", "spark1", "fail", Action(Command(("nonsense",))))
    plan = Plan("stop", None, (Phase("w", (write("spark1", "a"),)), Phase("b", (bad,))), on_failure="stop")
    outcome, _ = run(plan, world)
    assert outcome.status == "failed"
    assert outcome.undone == ()
    assert "/x/a" in world.nodes["spark1"].files


def test_serial_phases_take_one_node_after_the_other():
    world = world_of(4)
    steps = tuple(write(node, name) for node in world.nodes for name in "ab")
    run(Plan("deploy", None, (Phase("one by one", steps, serial=True),)), world)
    assert [sent.node for sent in world.sent] == [node for node in world.nodes for _ in "ab"]


def test_the_number_of_waves_does_not_depend_on_the_number_of_nodes():
    waves = set()
    for nodes in (2, 8):
        world = world_of(nodes)
        run(replacing(world), world)
        waves.add(world.waves)
    assert len(waves) == 1


@pytest.mark.parametrize("at", range(1, 14))
def test_an_interrupt_anywhere_brings_the_old_state_back(at):
    world = world_of(troubles=[Trouble("interrupt", at)])
    before = held(world)
    outcome, _ = run(replacing(world), world)
    assert outcome.status == "interrupted"
    assert held(world) == before
    assert outcome.stuck == outcome.unknown == ()


def test_a_second_interrupt_ends_the_waits_of_the_undo_but_not_its_commands():
    world = world_of(troubles=[Trouble("interrupt", 3)])
    world.boot(BootRule.flag("serve", EngineBoot(never=True)))
    forever = Wait(Command((Script("probe"), "old", "--api", "http://192.0.2.1:8000/health"), reads=True))
    old = halt("spark1", "old")
    old = replace(old, undo=Action(old.undo.command, forever))
    plan = Plan(
        "deploy",
        None,
        (
            Phase("one", (old,)),
            Phase("two", (write("spark1", "a"),)),
            Phase("three", (write("spark1", "b"),)),
        ),
    )
    seen: list[Event] = []

    def emit(event: Event) -> None:
        seen.append(event)
        if event.kind == "progress":
            world.interrupt()

    outcome = execute(plan, world, emit)
    assert outcome.status == "interrupted"
    assert set(outcome.undone) == {"stop.spark1.old", "write.spark1.a", "write.spark1.b"}
    assert [event.text for event in seen if event.kind == "undone"][-1] == "sparkops did not wait until it was ready"
    assert world.nodes["spark1"].engine.containers["old"].state == "running"


def test_two_interrupts_at_once_make_the_undo_impatient_from_the_start():
    world = world_of(troubles=[Trouble("interrupt", 1), Trouble("interrupt", 2)])
    world.boot(BootRule.flag("serve", EngineBoot(never=True)))
    forever = Wait(Command((Script("probe"), "old", "--api", "http://192.0.2.1:8000/health"), reads=True))
    steps = []
    for node in world.nodes:
        old = halt(node, "old")
        steps.append(replace(old, undo=Action(old.undo.command, forever)))
    outcome, events = run(Plan("deploy", None, (Phase("one", tuple(steps)),)), world)
    assert outcome.status == "interrupted"
    assert {event.text for event in events if event.kind == "undone"} == {"sparkops did not wait until it was ready"}


@pytest.mark.parametrize(
    ("needs", "told"),
    [(("spark1", "spark2"), "undo: stop old: sparkops did not wait until it was ready"), ((), "undone: stop old")],
)
def test_an_undo_waits_for_no_part_of_what_a_lost_node_belongs_to(needs: tuple[str, ...], told: str) -> None:
    world = world_of(troubles=[Trouble("interrupt", 3), Trouble("lost-before", 5)])
    steps = []
    for number, node in enumerate(world.nodes, 1):
        old = halt(node, "old")
        probe = Command((Script("probe"), "old", "--api", f"http://192.0.2.{number}:8000/health"), reads=True)
        steps.append(replace(old, undo=Action(old.undo.command, Wait(probe), needs=needs)))
    outcome, events = run(
        Plan("deploy", None, (Phase("one", tuple(steps)), Phase("two", (write("spark1", "a"),)))), world
    )
    assert outcome.stuck == ("stop.spark1.old",)
    assert [event.title for event in events if event.kind == "undone" and event.node == "spark2"] == [told]


def test_a_node_lost_with_its_command_sent_is_unknown_and_said_so():
    world = world_of(troubles=[Trouble("lost-applied", 1)])
    outcome, events = run(Plan("deploy", None, (Phase("w", (write("spark1", "a"),)),)), world)
    assert outcome.status == "lost"
    assert outcome.unknown == outcome.stuck == ("write.spark1.a",)
    assert [event.text for event in events if event.kind == "lost"][0].endswith(
        "it is unknown whether this step was done"
    )


def test_a_node_lost_before_the_send_is_not_unknown():
    world = world_of(troubles=[Trouble("lost-before", 1)])
    outcome, events = run(Plan("deploy", None, (Phase("w", (write("spark1", "a"),)),)), world)
    assert outcome.status == "lost"
    assert outcome.unknown == outcome.stuck == outcome.sent == ()
    assert [event.text for event in events if event.kind == "lost"][0].endswith("this step was not sent")


def test_a_node_that_comes_back_during_the_undo_is_undone_too():
    world = world_of(troubles=[Trouble("lost-applied", 9, away=0.02)])
    before = held(world)
    outcome, _ = run(replacing(world), world)
    assert outcome.status in ("lost", "done")
    if outcome.status == "lost":
        assert outcome.unknown == outcome.stuck == ()
        assert held(world) == before


def test_a_wait_survives_a_connection_that_comes_back():
    world = world_of()
    world.boot(BootRule.flag("--slow", EngineBoot(looks=20)))
    start, wait = begin("spark1", "new", "--slow"), load("spark1", world, "new")

    def emit(event: Event) -> None:
        if event.kind == "progress" and "lost contact" not in event.text and not lost:
            lost.append(event)
            world.lose("spark1", 200.0)

    lost: list[Event] = []
    outcome = execute(Plan("deploy", None, (Phase("s", (start,)), Phase("w", (wait,)))), world, emit)
    assert lost
    assert outcome.status == "done"


def test_a_node_that_is_away_when_another_one_fails_is_told_as_such(crashing):
    world = world_of()
    world.boot(crashing, BootRule.flag("--slow", EngineBoot(never=True)))
    starts = (begin("spark1", "new", "--bad"), begin("spark2", "new", "--slow"))
    waits = (load("spark1", world, "new"), load("spark2", world, "new"))
    told: list[Event] = []

    def emit(event: Event) -> None:
        told.append(event)
        if event.kind == "failed":
            world.lose("spark2")

    execute(Plan("deploy", None, (Phase("start", starts), Phase("wait", waits))), world, emit)
    (skipped,) = [event for event in told if event.kind == "skipped"]
    assert (skipped.node, skipped.data["log"]) == ("spark2", SILENT)


def test_a_wait_ends_at_once_when_the_node_refuses_the_login():
    """Every try more is a line in its log, and maybe the ban of this address."""
    world = world_of()
    world.boot(BootRule.flag("--slow", EngineBoot(looks=20)))
    start, wait = begin("spark1", "new", "--slow"), load("spark1", world, "new")

    def emit(event: Event) -> None:
        if event.kind == "progress":
            world.shut("spark1", "refused the login")

    tries = Phase("s", (start,)), Phase("w", (wait,))
    outcome = execute(Plan("deploy", None, tries), world, emit)
    assert (outcome.status, outcome.failures[0].reason) == ("lost", "refused the login")
    assert world.now() < 10


def test_a_wait_gives_up_on_a_node_that_stays_away():
    world = world_of()
    world.boot(BootRule.flag("--slow", EngineBoot(looks=20)))
    start, wait = begin("spark1", "new", "--slow"), load("spark1", world, "new")
    outcome = execute(
        Plan("deploy", None, (Phase("s", (start,)), Phase("w", (wait,)))),
        world,
        lambda event: world.lose("spark1") if event.kind == "progress" else None,
    )
    assert outcome.status == "lost"
    assert 300 <= world.now() < 400
    assert outcome.stuck == ("start.spark1.new",)


def test_a_refused_command_names_the_lost_lock():
    world = world_of()
    world.lock(_Owner("run1"))
    world.nodes["spark1"].lock = "somebody else"
    outcome, _ = run(Plan("deploy", None, (Phase("w", (write("spark1", "a"),)),)), world)
    assert "lost its lock" in outcome.failures[0].reason


class _Owner:
    def __init__(self, run: str) -> None:
        self.run = run


def test_a_bug_of_ours_undoes_before_it_is_raised():
    world = world_of()
    before = held(world)
    plan = replacing(world)

    def emit(event: Event) -> None:
        if event.kind == "progress":
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        execute(plan, world, emit)
    assert held(world) == before


def test_after_a_crash_nothing_is_sent_and_the_lock_is_free():
    world = world_of(troubles=[Trouble("crash-after", 5)])
    world.lock(_Owner("run1"))
    with pytest.raises(Crash):
        run(replacing(world), world)
    assert len(world.sent) == 5
    assert {node.lock for node in world.nodes.values()} == {None}
    with pytest.raises(Crash):
        world.send("spark1", Command(("true",)), world.cancel())
    assert isinstance(world.survivors(), SimulatedWorld)


def test_a_second_interrupt_ends_the_undo_of_an_operator_and_says_what_is_left():
    world = world_of(1, troubles=[Trouble("interrupt", 2)])
    own, ours = write("spark1", "own"), write("spark1", "ours")
    own = replace(own, undo=Action(replace(own.undo.command, ends=True)))
    seen: list[Event] = []

    def emit(event: Event) -> None:
        seen.append(event)
        if event.kind == "undo":
            world.interrupt()

    outcome = execute(Plan("play", None, (Phase("one", (own,)), Phase("two", (ours,)))), world, emit)
    assert (outcome.undone, outcome.stuck) == (("write.spark1.ours",), ("write.spark1.own",))
    assert [event.text for event in seen if event.kind == "stuck"] == ["an interrupt ended it"]


def test_a_wait_in_which_nothing_is_new_says_so_each_minute():
    world = world_of()
    world.boot(BootRule.flag("--slow", EngineBoot(never=True, looks=9999)))
    tries = Phase("s", (begin("spark1", "new", "--slow"),)), Phase("w", (load("spark1", world, "new", stall=600.0),))
    _, events = run(Plan("deploy", None, tries), world)
    told = [event.text for event in events if event.kind == "progress"]
    assert len(told) - len(set(told)) == 9, "ten minutes after the last news the wait gives up"


def test_each_phase_tells_its_number_and_what_comes_next():
    world = world_of()
    _, events = run(replacing(world), world)
    told = [(event.data["number"], event.data["of"], event.data["next"]) for event in events if event.kind == "phase"]
    assert [number for number, _, _ in told] == [1, 2, 3, 4, 5]
    assert {of for _, of, _ in told} == {5}
    assert [following for _, _, following in told] == ["stop the old", "start the new", "wait", "settle", None]
