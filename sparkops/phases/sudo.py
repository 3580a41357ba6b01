"""With `become: sudo` in the inventory, commands for Docker run through sudo; those for files in the home do not."""

from dataclasses import replace

from sparkops.core.plan import Action, Command, Plan, Script, Step

AS_USER = (
    *("bandwidth", "peers", "file", "key", "memory", "facts", "keptlog", "model", "watch"),
    *("schedule", "manifest", "sudoers"),
)
"""Scripts that never need root; `facts` calls sudo itself."""

READ_AS_USER = ("job", "netplan", "relay")
"""Scripts that need no root to read, or ask for it: the files of root's jobs are readable by the user."""


def with_sudo(plan: Plan, nodes: frozenset[str]) -> Plan:
    """The plan with sudo for commands of these nodes that need it."""
    if not nodes:
        return plan
    phases = (replace(phase, steps=tuple(_step(step, nodes) for step in phase.steps)) for phase in plan.phases)
    return replace(plan, phases=tuple(phases))


def become(command: Command) -> Command:
    first = command.words[0]
    own = AS_USER + READ_AS_USER if command.reads else AS_USER
    return command if isinstance(first, Script) and first.name in own else replace(command, become=True)


def _step(step: Step, nodes: frozenset[str]) -> Step:
    if step.node not in nodes:
        return step
    return replace(step, do=_action(step.do), undo=_action(step.undo) if step.undo else None)


def _action(action: Action) -> Action:
    command = become(action.command) if action.command else None
    wait, proof = (one and replace(one, probe=become(one.probe)) for one in (action.wait, action.proof))
    return Action(command, wait, proof)
