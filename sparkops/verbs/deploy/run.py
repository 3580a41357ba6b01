"""`plan` and `deploy`: one way to the plan, and deploy executes exactly what plan prints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from sparkops import checks
from sparkops.commands import proxy, scripts
from sparkops.core.condition import REPLACE_SECONDS, serving_probe
from sparkops.core.facts import Facts, Model
from sparkops.core.findings import Finding
from sparkops.core.plan import Plan, Result
from sparkops.core.playbook.known import known
from sparkops.core.playbook.names import Names
from sparkops.core.playbook.values import StepsPlay
from sparkops.core.recipe import Recipe
from sparkops.core.revise import revise
from sparkops.core.revision import deployment_name, differences
from sparkops.core.situation import Choices, Situation
from sparkops.errors import Interrupted, Refused
from sparkops.files.playbooks import built_in
from sparkops.phases import KEY_PHASE, compile_deploy
from sparkops.phases.orphans import compile_orphans
from sparkops.phases.prepare import API_KEY
from sparkops.phases.sudo import with_sudo
from sparkops.phases.verify import question
from sparkops.report.answer import Answer
from sparkops.report.report import Report
from sparkops.session.api_key import digest, elsewhere, given_keys, new_key, old_keys, own_key, readers
from sparkops.session.execute import execute, refused_late
from sparkops.session.find_deployment import ours_to_change
from sparkops.session.reachability import ask_from_here
from sparkops.session.session import Session, connected, selected
from sparkops.verbs.deploy import document as documents
from sparkops.verbs.deploy.deploy_warnings import older, out_of_reach
from sparkops.verbs.deploy.draft import Draft, drafted, refuse
from sparkops.verbs.deploy.marlin_check import by_marlin
from sparkops.verbs.deploy.options import PlanOptions

if TYPE_CHECKING:
    from sparkops.verbs.bench import after_deploy


@dataclass(frozen=True)
class Own:
    """An operator's play with phases of deploy in it, and the names that `-e` gives."""

    play: StepsPlay
    extra: Names


@dataclass(frozen=True)
class Ready:
    """A plan with all that it was made from."""

    draft: Draft
    situation: Situation
    plan: Plan
    findings: tuple[Finding, ...]
    changes: tuple[str, ...]
    key: str | None = field(default=None, repr=False)


def plan(options: PlanOptions, report: Report) -> Answer:
    """What deploy would do; nodes are only read."""
    chosen = selected(options.where, report)
    draft = drafted(options, chosen, report)
    to_measure = _to_measure(options, draft.effective.recipe, report)
    with connected(chosen, report) as session:
        _refuse_before_setup(options, session, draft)
        ready = compiled(options, session, draft)
        follows = (f"then measures it: {to_measure.told}",) if to_measure and ready.plan.changes else ()
        changes = (*ready.changes, *follows)
        document = documents.plan(ready.situation, ready.plan, ready.findings, changes, ready.draft.effective)
        _hold_to(options, ready)
        return Answer(document)


def deploy(options: PlanOptions, report: Report) -> Answer:
    """Make the revision serve, verified on the nodes; on any trouble undo what was done."""
    chosen = selected(options.where, report)
    draft = drafted(options, chosen, report)
    to_measure = _to_measure(options, draft.effective.recipe, report)
    with connected(chosen, report) as session:
        got = _set_up(options, session, draft)
        with refused_late(got):
            ready = carry_out(options, session, draft)
        warnings = _caveats(ready, session)
        for warning in warnings:
            report.warn(warning)
        document = documents.deploy(ready.situation, ready.plan, ready.findings, ready.changes, warnings)
        if to_measure is None or (options.bench is None and not ready.plan.changes):
            return Answer({**document, "setup": got})
        document |= {"setup": got, "seconds": report.seconds}
        bench, error = to_measure.measure(ready.situation.revision.deployment, session)
        return Answer({**document, "bench": bench}, error=error)


def _caveats(ready: Ready, session: Session) -> list[str]:
    """What to know of a deployment that serves by now."""
    revision = ready.situation.revision
    try:
        return [
            *older(ready.situation),
            *out_of_reach(ready.situation),
            *(by_marlin(session, ready.draft.effective, revision) if ready.plan.changes else ()),
            *ask_from_here(revision, session.secrets[API_KEY.name]),
        ]
    except KeyboardInterrupt:
        told = f"{revision.deployment} was deployed and serves; only warnings may be missing"
        raise Interrupted("interrupted", hint=told) from None


def _refuse_before_setup(options: PlanOptions, session: Session, draft: Draft) -> None:
    if options.setup:
        from sparkops.verbs.deploy import provision  # noqa: PLC0415  most find all in its place

        provision.refuse_before_setup(provision.needs(options, draft), session)


def _set_up(options: PlanOptions, session: Session, draft: Draft) -> list[str]:
    if not options.setup:
        return []
    from sparkops.verbs.deploy import provision  # noqa: PLC0415  the same

    return provision.set_up(provision.needs(options, draft), session, options.access)


def _to_measure(options: PlanOptions, recipe: Recipe, report: Report) -> after_deploy.WantedBench | None:
    """By `--bench`, else by the recipe; an empty suite is none at all."""
    by_recipe = recipe.benchmark is not None and recipe.benchmark.enabled
    if not (by_recipe if options.bench is None else options.bench):
        return None
    from sparkops.verbs.bench import after_deploy  # noqa: PLC0415  most measure nothing

    return after_deploy.wanted(options, recipe, report)


def carry_out(options: PlanOptions, session: Session, draft: Draft, own: Own | None = None) -> Ready:
    """Lock, read, judge, compile, execute; raises unless all of it was done. `own` is an operator's own playbook."""
    session.require(node.name for node in draft.placement.nodes)
    session.lock(node.name for node in draft.placement.nodes)
    ready = compiled(options, session, draft, own)
    _hold_to(options, ready)
    session.lock(step.node for step in ready.plan.steps)
    key = ready.key or _api_key(options, session, ready.situation)
    session.secrets |= {API_KEY.name: key, **old_keys(session, ready.situation.facts, ready.plan)}
    session.report.hide(*session.secrets.values())
    for finding in ready.findings:
        session.report.note(f"{finding.id}: {finding.message}", finding.node)
    execute(ready.plan, session)
    return ready


def compiled(options: PlanOptions, session: Session, draft: Draft, own: Own | None = None) -> Ready:
    """Read the nodes, judge, and compile."""
    images = _images(draft)
    revision = draft.effective.recipe.revision
    model = f"{draft.effective.model}@{revision}" if revision else draft.effective.model
    placed = [node.name for node in draft.placement.nodes]
    facts = session.containers(_same_snapshot(session, session.facts(images=images, model=model), draft), but=placed)
    session.require(placed)
    situation, key = _situation(options, session, draft, facts)
    situation = _with_broken(situation, session)
    ours_to_change(stored for _, stored, _ in situation.replaced)
    found = checks.findings(situation, options.allow)
    refuse(found)
    play = own.play if own else built_in("deploy")
    names = known(play, own.extra, draft.placement.nodes, facts) if own else None
    deploys = compile_deploy(situation, play, names)
    _keeps_other_keys(situation, deploys)
    wanted = {(member.name, situation.revision.container(member)) for member in situation.revision.members}
    orphans = compile_orphans(facts, {node.name: node.address for node in session.inventory.nodes}, wanted)
    whole = with_sudo(
        Plan("deploy", deploys.revision, (*orphans, *deploys.phases), replaces=deploys.replaces), session.sudo
    )
    return Ready(draft, situation, whole, (*draft.findings, *found), _changes(situation) if whole.changes else (), key)


def _same_snapshot(session: Session, facts: dict[str, Facts], draft: Draft) -> dict[str, Facts]:
    """Where names of revisions mean different commits, all are asked for the one that the head has."""
    have = {p.node.name: f.model for p in draft.placement.engines if (f := facts.get(p.node.name))}
    commits = {name: model.revision for name, model in have.items() if isinstance(model, Model) and model.complete}
    pinned = commits.get(draft.placement.head.node.name)
    if pinned is None or set(commits.values()) == {pinned}:
        return facts
    again = session.facts(images=_images(draft), model=f"{draft.effective.model}@{pinned}")
    return {**facts, **again}


def _images(draft: Draft) -> list[str]:
    return [draft.effective.image, *([proxy.IMAGE] if draft.placement.proxies else [])]


def _situation(
    options: PlanOptions, session: Session, draft: Draft, facts: Mapping[str, Facts]
) -> tuple[Situation, str | None]:
    """With it the key to use, as far as it is known by now."""
    name = deployment_name(options.name or draft.effective.recipe.name)
    revision = revise(name, draft.effective, draft.placement, facts, options.alongside)
    telling = elsewhere(facts, revision)
    texts = given_keys(session, telling)
    given = {(node, telling[node].key_file or ""): digest(text) for node, text in texts.items()}
    primary = revision.fronts[0].name
    key = options.api_key or texts.get(primary)
    key_digest = digest(key) if key else facts[primary].key_digest or "new"
    choices = Choices(options.alongside, options.refresh, options.stall, options.deadline, keep=options.keep)
    return Situation(revision, draft.effective, draft.placement, facts, key_digest, choices, given=given), key


def _with_broken(situation: Situation, session: Session) -> Situation:
    """Which engines of this very revision are up but answer nobody: they are replaced instead of waited for."""
    members = [m for m in situation.revision.engines if m.port is not None and situation.todo(m) == "keep"]
    if not members:
        return situation
    asked = session.ask({m.name: scripts.serving(question(situation, m), REPLACE_SECONDS) for m in members})
    broken = [
        name for name, result in asked.items() if isinstance(result, Result) and serving_probe(result.stdout).hangs
    ]
    return replace(situation, broken=frozenset(broken))


def _keeps_other_keys(situation: Situation, plan: Plan) -> None:
    """One key a node: what stays there beside this deployment would have another one after its next start."""
    written = [step.node for phase in plan.phases if phase.name == KEY_PHASE for step in phase.steps]
    gone = {situation.revision.hash, *situation.replaces}
    for other in readers(situation.facts, written):
        if other.stored.hash not in gone:
            raise Refused(
                f"{other.title} serves on {', '.join(sorted({n for n, _ in other.running}))} with another API key",
                hint=f"give both the same first: SPARKOPS_API_KEY=... sparkops key rotate "
                f"--deployment {other.stored.deployment}",
            )


def _api_key(options: PlanOptions, session: Session, situation: Situation) -> str:
    """The key to use: the person's, else the one on the front's node, else a new one."""
    if options.api_key:
        return options.api_key
    primary = situation.revision.fronts[0].name
    return own_key(session, situation.facts, primary) if situation.facts[primary].key_digest else new_key()


def _changes(situation: Situation) -> tuple[str, ...]:
    """What differs from the revision of the same deployment that runs now; all new when there is none."""
    name = situation.revision.deployment
    old = next((stored for _, stored, _ in situation.replaced if stored.deployment == name), None)
    if old is not None:
        return differences(old.data, situation.revision.data)
    gone = sorted({f"{stored.deployment} {stored.hash[:8]}" for _, stored, _ in situation.replaced})
    switches = tuple(f"replaces {title}; loading a model again takes minutes" for title in gone)
    return switches or (f"starts {name} {situation.revision.hash[:8]}",)


def _hold_to(options: PlanOptions, ready: Ready) -> None:
    """`--expect`: the run must be what was looked at."""
    if options.expect not in (None, ready.plan.id):
        raise Refused(f"the plan is {ready.plan.id}, not {options.expect}", hint="look at it again: `sparkops plan`")
