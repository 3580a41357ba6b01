"""Where `become: sudo` puts sudo: before what talks to Docker, in a step, its wait and its undo alike."""

from sparkops.core.plan import Action, Command, Phase, Plan, Script, Step, Wait
from sparkops.phases.sudo import with_sudo

RUN = Command(("docker", "run", "-d", "engine"))
LOAD = Wait(Command((Script("probe"), "engine"), reads=True))
KEY = Command((Script("key"), "put"))
JOB = Command((Script("job"), "state"), reads=True)


def plan() -> Plan:
    steps = (
        Step("start.a", "a", "start it", Action(RUN, LOAD), Action(RUN, LOAD)),
        Step("key.a", "a", "write the key", Action(KEY, Wait(JOB)), Action(KEY)),
        Step("wait.a", "a", "only wait", Action(wait=LOAD)),
        Step("start.b", "b", "start it", Action(RUN, LOAD), Action(RUN)),
    )
    return Plan("deploy", "revision", (Phase("all", steps),))


def roots(plan: Plan) -> dict[str, list[bool | None]]:
    """For each step: its command, the probe of its wait, and both of its undo."""
    return {
        step.id: [
            command and command.become
            for action in (step.do, step.undo or Action())
            for command in (action.command, action.wait and action.wait.probe)
        ]
        for step in plan.steps
    }


def test_sudo_goes_before_docker_and_not_before_what_lies_in_the_home() -> None:
    assert roots(with_sudo(plan(), frozenset({"a"}))) == {
        "start.a": [True, True, True, True],
        "key.a": [False, False, False, None],
        "wait.a": [None, True, None, None],
        "start.b": [False, False, False, None],
    }


def test_nothing_else_of_the_plan_changes() -> None:
    assert with_sudo(plan(), frozenset()) == plan()
    assert with_sudo(plan(), frozenset({"a"})).revision == "revision"
