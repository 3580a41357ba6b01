"""`plan` and `deploy`: one way to the plan, and deploy executes exactly what plan prints."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace

from sparkops import checks
from sparkops.asks import Answer, PlanOptions
from sparkops.commands import proxy, scripts
from sparkops.core.condition import PATIENT, heard
from sparkops.core.draft import revise
from sparkops.core.facts import Facts
from sparkops.core.findings import Finding
from sparkops.core.plan import Plan, Result
from sparkops.core.revision import deployment_name, differences
from sparkops.core.situation import Choices, Situation, key_path
from sparkops.errors import Refused
from sparkops.phases import compile_deploy
from sparkops.phases.orphans import compile_orphans
from sparkops.phases.prepare import API_KEY
from sparkops.phases.sudo import with_sudo
from sparkops.phases.verify import question
from sparkops.report.report import Report
from sparkops.workflows import documents
from sparkops.workflows.caveats import older, out_of_reach
from sparkops.workflows.chosen import ours_to_change
from sparkops.workflows.keys import new_key
from sparkops.workflows.outside import ask_from_here
from sparkops.workflows.run import execute
from sparkops.workflows.session import Session, connected, selected
from sparkops.workflows.wish import Wish, refuse, wished


@dataclass(frozen=True)
class Ready:
    """A plan with all that it was made from."""

    wish: Wish
    situation: Situation
    plan: Plan
    findings: tuple[Finding, ...]
    changes: tuple[str, ...]


def plan(options: PlanOptions, report: Report) -> Answer:
    """What deploy would do; nodes are only read."""
    chosen = selected(options.where, report)
    wish = wished(options, chosen, report)
    with connected(chosen, report) as session:
        ready = compiled(options, session, wish)
        document = documents.plan(ready.situation, ready.plan, ready.findings, ready.changes, ready.wish.effective)
        _hold_to(options, ready)
        return Answer(document)


def deploy(options: PlanOptions, report: Report) -> Answer:
    """Make the revision serve, verified on the nodes; on any trouble undo what was done."""
    chosen = selected(options.where, report)
    wish = wished(options, chosen, report)
    with connected(chosen, report) as session:
        ready = carry_out(options, session, wish)
        warnings = [
            *older(ready.situation),
            *out_of_reach(ready.situation),
            *ask_from_here(ready.situation.revision, session.secrets[API_KEY.name]),
        ]
        for warning in warnings:
            report.warn(warning)
        return Answer(documents.deploy(ready.situation, ready.plan, ready.findings, ready.changes, warnings))


def carry_out(options: PlanOptions, session: Session, wish: Wish) -> Ready:
    """Lock, read, judge, compile, execute; raises unless all of it was done."""
    session.require(node.name for node in wish.placement.nodes)
    session.lock(node.name for node in wish.placement.nodes)
    ready = compiled(options, session, wish)
    _hold_to(options, ready)
    session.lock(step.node for step in ready.plan.steps)
    session.secrets[API_KEY.name] = _api_key(options, session, ready.situation)
    session.report.hide(session.secrets[API_KEY.name])
    for finding in ready.findings:
        session.report.note(f"{finding.id}: {finding.message}", finding.node)
    execute(ready.plan, session)
    return ready


def compiled(options: PlanOptions, session: Session, wish: Wish) -> Ready:
    """Read the nodes, judge, and compile."""
    images = [wish.effective.image, *([proxy.IMAGE] if wish.placement.proxies else [])]
    revision = wish.effective.recipe.revision
    model = f"{wish.effective.model}@{revision}" if revision else wish.effective.model
    placed = [node.name for node in wish.placement.nodes]
    facts = session.containers(session.facts(images=images, model=model), but=placed)
    session.require(placed)
    situation = _with_broken(_situation(options, wish, facts), session)
    ours_to_change(stored for _, stored, _ in situation.replaced)
    _key_is_ours(situation)
    found = checks.findings(situation, options.allow)
    refuse(found)
    deploys = compile_deploy(situation)
    wanted = {(member.name, situation.revision.container(member)) for member in situation.revision.members}
    orphans = compile_orphans(facts, {node.name: node.address for node in session.inventory.nodes}, wanted)
    whole = with_sudo(
        Plan("deploy", deploys.revision, (*orphans, *deploys.phases), replaces=deploys.replaces), session.sudo
    )
    return Ready(wish, situation, whole, (*wish.findings, *found), _changes(situation) if whole.changes else ())


def _situation(options: PlanOptions, wish: Wish, facts: Mapping[str, Facts]) -> Situation:
    name = deployment_name(options.name or wish.effective.recipe.name)
    revision = revise(name, wish.effective, wish.placement, facts, options.alongside)
    primary = revision.fronts[0].name
    digest = hashlib.sha256(options.api_key.encode()).hexdigest() if options.api_key else facts[primary].key_digest
    choices = Choices(options.alongside, options.refresh, options.stall, options.deadline)
    return Situation(revision, wish.effective, wish.placement, facts, digest or "new", choices)


def _with_broken(situation: Situation, session: Session) -> Situation:
    """Which engines of this very revision are up but answer nobody: they are replaced instead of waited for."""
    members = [m for m in situation.revision.engines if m.port is not None and situation.todo(m) == "keep"]
    if not members:
        return situation
    asked = session.ask({m.name: scripts.serving(question(situation, m), PATIENT) for m in members})
    broken = [name for name, result in asked.items() if isinstance(result, Result) and heard(result.stdout).hangs]
    return replace(situation, broken=frozenset(broken))


def _key_is_ours(situation: Situation) -> None:
    """A key in another user's home can be neither read nor replaced; a second one would not be what is served."""
    for node in dict.fromkeys(front.name for front in situation.revision.fronts):
        known = situation.facts[node]
        serving = [c.name for c in known.containers if c.ours and c.runs and c.role != "worker"]
        if serving and not known.key_digest:
            raise Refused(
                f"{serving[0]} runs on {node} and its API key is not in this user's home: another user deployed it",
                node=node,
                hint="deploy as that user (`user:` in the inventory), or end it first with `sparkops stop`",
            )


def _api_key(options: PlanOptions, session: Session, situation: Situation) -> str:
    """The key to use: the person's, else the one on the front's node, else a new one."""
    if options.api_key:
        return options.api_key
    primary = situation.revision.fronts[0].name
    if not situation.facts[primary].key_digest:
        return new_key()
    return session.one(primary, scripts.read_key(key_path(situation.facts[primary])), "read the API key").strip()


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
