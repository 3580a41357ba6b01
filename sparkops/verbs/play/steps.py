"""A play of steps on its hosts: compiled, executed, and counted node by node."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sparkops.core.inventory import Node
from sparkops.core.plan import Event, Plan, Step, shown
from sparkops.core.playbook.recap import Recap, recap
from sparkops.core.playbook.uses import known, uses_facts, uses_phases
from sparkops.core.playbook.values import StepsPlay
from sparkops.core.schema import one_line
from sparkops.errors import PRECEDENCE, Interrupted, SparkopsError, StepFailed, UsageError
from sparkops.phases.in_turns import can_repeat
from sparkops.phases.operator import as_check, compile_play
from sparkops.report.report import Report
from sparkops.session.execute import error_of
from sparkops.session.open import Selected, connected, selected
from sparkops.session.session import Session
from sparkops.verbs.deploy.choose import on_best_nodes
from sparkops.verbs.deploy.compile import OwnPlay
from sparkops.verbs.deploy.draft import drafted
from sparkops.verbs.deploy.options import PlanOptions
from sparkops.verbs.deploy.run import carry_out, decide
from sparkops.verbs.play.options import PlayOptions

AGAIN = "to run it again where it failed or did not run, add --limit @last-failed"


@dataclass(frozen=True)
class Played:
    """How a play ended; `error` if a node failed. `whole`: a failure ends the playbook."""

    recap: Mapping[str, Recap]
    error: SparkopsError | None = None
    whole: bool = False

    @property
    def cut(self) -> bool:
        """Whether the playbook must end here; it goes on while some nodes of each batch are left."""
        if self.error is None:
            return False
        return self.whole or Recap() in self.recap.values() or all(one.bad for one in self.recap.values())


def play_steps(play: StepsPlay, options: PlayOptions, without: frozenset[str], report: Report) -> Played:
    """Run the play, or with `--check` only what reads. `without` are nodes that failed in an earlier play."""
    chosen = selected(options.where, report)
    if uses_phases(play):
        return _with_phases(play, options, chosen, report)
    hosts = hosts_of(play, chosen)
    nodes = [node for node in hosts if node.name not in without]
    if not nodes:
        why = "all its hosts have failed" if hosts else "none of its hosts is selected"
        report.warn(f"{play.where}: play {play.name!r} has nothing to do: {why}")
        return Played({})
    with connected(replace(chosen, nodes=tuple(nodes)), report) as session:
        plan, there = _compiled(play, options, session, nodes)
        while plan.changes and not options.check and session.lock(step.node for step in plan.steps):
            plan, there = _compiled(play, options, session, nodes)  # another run changed the nodes meanwhile
        for name, lost in session.away.items():
            report.warn(f"this node is left out: {lost.reason}", name)
        events: list[Event] = []
        steps = {step.id: step for step in plan.steps}

        def emit(event: Event) -> None:
            events.append(event)
            report.emit(_shown(event, steps.get(event.step or ""), options.check))

        outcome = session.run(as_check(plan) if options.check else plan, emit)
        away = session.away.among(node.name for node in nodes)
        counted = dict.fromkeys(away, Recap(unreachable=1)) | recap(plan, events)
        counts = {node.name: counted[node.name] for node in nodes if node.name in counted}
        failed = error_of(plan, outcome) if options.check else error_of(plan, outcome, AGAIN)
        error = first(failed, away.error, None if options.check else _undecided(events))
        return Played(counts, error, whole=play.on_failure in ("stop", "undo") or isinstance(error, Interrupted))


def _compiled(
    play: StepsPlay, options: PlayOptions, session: Session, nodes: Sequence[Node]
) -> tuple[Plan, Sequence[Node]]:
    """Return the plan for the nodes that answer, and these nodes."""
    facts = session.facts() if uses_facts(play) else {}
    there = [node for node in nodes if node.name not in session.away]
    return compile_play(play, there, known(play, options.extra, there, facts), {}), there


def _shown(event: Event, step: Step | None, check: bool) -> Event:
    """Return the event as shown: `--check` says what would change, an ignored failure becomes a warning."""
    if step is None:
        return event
    if check and step.changes and event.kind == "start":
        return replace(event, text=shown(step.do.command.words) if step.do.command else "")
    if check and step.changes and event.kind == "done":
        return replace(event, data={"result": "would change"})
    if event.kind == "failed" and step.terms and step.terms.ignore_errors:
        return replace(event, kind="warning", text=f"{event.title} failed (ignored): {one_line(event.text)}")
    return event


def _with_phases(play: StepsPlay, options: PlayOptions, chosen: Selected, report: Report) -> Played:
    """Run a deploy with the operator's own steps: judged, locked and undone as a whole."""
    wanted = _deploy_options(play, options)
    draft = drafted(wanted, chosen)
    own = OwnPlay(play, options.extra)
    with connected(chosen, report) as session:
        draft = on_best_nodes(wanted, draft, session)
        done = (decide if options.check else carry_out)(wanted, session, draft, own)
    counts = {step.node: Recap() for step in done.plan.steps}
    for step in done.plan.steps:
        counts[step.node] = counts[step.node].plus(Recap(changed=1) if step.changes else Recap(ok=1))
    return Played(counts)


def _deploy_options(play: StepsPlay, options: PlayOptions) -> PlanOptions:
    """Return the options of `deploy` from the play's vars and `-e`."""
    said = {**play.vars, **options.extra}
    if "topology" not in said:
        raise UsageError(f"{play.where}: play {play.name!r} uses phases of deploy, so it needs -e topology=...")
    if play.on_failure != "undo":
        raise UsageError(f"{play.where}: play {play.name!r} uses phases of deploy, so it needs `on_failure: undo`")
    for key, given in (("hosts", play.hosts), ("serial", play.serial)):
        if given is not None:
            raise UsageError(
                f"{play.where}: play {play.name!r} uses phases of deploy, so the topology chooses the nodes: "
                f"remove `{key}`",
                hint="use `when: node.name == ...` on a step, or `--limit`",
            )
    recipe, name = (str(said[key]) if key in said else None for key in ("recipe", "name"))
    return PlanOptions(options.where, str(said["topology"]), recipe, name, at_once=not can_repeat(play))


def hosts_of(play: StepsPlay, chosen: Selected) -> Sequence[Node]:
    """Return the play's hosts within `--limit`."""
    try:
        hosts = chosen.inventory.select(play.hosts)
    except UsageError as error:
        reason = error.message.replace("--limit ", "hosts: ", 1)
        raise UsageError(f"{play.where}: play {play.name!r}: {reason}", hint=error.hint) from None
    return [node for node in hosts if node in chosen.nodes]


def _undecided(events: Sequence[Event]) -> StepFailed | None:
    """Return an error for a step that was skipped because its condition needs a result that never came."""
    left = next((event for event in events if event.kind == "undecided"), None)
    if left is None:
        return None
    reason = "was skipped, because its condition needs the result of a step that did not run"
    return StepFailed(f"{left.node}: {left.title} {reason}", node=left.node, step=left.title)


def first(*errors: SparkopsError | None) -> SparkopsError | None:
    """Return the error that decides the exit code; None without errors."""
    found = [error for error in errors if error is not None]
    return min(found, key=lambda error: PRECEDENCE.index(error.exit_code), default=None)
