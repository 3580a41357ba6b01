"""`plan` and `deploy`: draft, connect, choose, lock, observe, judge, compile, execute, confirm.

`plan` is the same list up to compile, so deploy executes exactly what plan prints. `playbooks/deploy.yml` gives the
order of the steps on the nodes.
"""

from typing import TYPE_CHECKING

from sparkops.core.impact import noted, told
from sparkops.core.notes import EVERYTHING
from sparkops.core.recipe import Recipe
from sparkops.errors import Refused
from sparkops.files import deployments
from sparkops.report.answer import Answer
from sparkops.report.report import Report
from sparkops.session.api_key import keys_of
from sparkops.session.execute import execute
from sparkops.session.find_deployment import refuse_newcomers
from sparkops.session.fleet_of import tell_of_fleet
from sparkops.session.measure import measure
from sparkops.session.open import connected, selected
from sparkops.session.session import Session
from sparkops.verbs.deploy import document as documents
from sparkops.verbs.deploy.choose import on_best_nodes
from sparkops.verbs.deploy.compile import Compiled, OwnPlay, changes, compile_plan, judge
from sparkops.verbs.deploy.confirm import confirm, serves
from sparkops.verbs.deploy.draft import Draft, drafted, name_of
from sparkops.verbs.deploy.observe import observe
from sparkops.verbs.deploy.options import PlanOptions

if TYPE_CHECKING:
    from sparkops.verbs.bench import after_deploy


def plan(options: PlanOptions, report: Report) -> Answer:
    """Show what deploy would do; only reads the nodes."""
    chosen = selected(options.where, report)
    draft = drafted(options, chosen)
    benchmark = _benchmark(options, draft.effective.recipe, report)
    with connected(chosen, report) as session:
        draft = on_best_nodes(options, draft, session)
        if options.setup:
            from sparkops.verbs.deploy import provision  # noqa: PLC0415  most deploys need no setup

            provision.refuse_before_setup(options, draft, session)
        compiled = decide(options, session, draft)
        session.warn_cut_off(session.cut_off)
        then = (f"then measures it: {benchmark.summary}",) if benchmark and compiled.plan.changes else ()
        return Answer(documents.plan(compiled, then, short=options.short))


def deploy(options: PlanOptions, report: Report) -> Answer:
    """Make the revision serve and verify it; on failure undo what was done."""
    chosen = selected(options.where, report)
    draft = drafted(options, chosen)
    benchmark = _benchmark(options, draft.effective.recipe, report)
    with connected(chosen, report) as session:
        draft = on_best_nodes(options, draft, session)
        got: list[str] = []
        if options.setup:
            from sparkops.verbs.deploy import provision  # noqa: PLC0415  as in plan

            got = provision.set_up(options, draft, session)
        compiled = carry_out(options, session, draft)
        warnings = confirm(compiled, session)
        document = documents.deploy(compiled, warnings) | {"setup": got}
        if benchmark is None or (options.bench is None and not compiled.plan.changes):
            return Answer(document)
        document |= {"seconds": report.seconds}
        bench, error = benchmark.measure(compiled.situation.revision.deployment, session)
        return Answer({**document, "bench": bench}, error=error)


def carry_out(options: PlanOptions, session: Session, draft: Draft, own: OwnPlay | None = None) -> Compiled:
    """Lock, decide, execute; raises unless all was done. `own` is the operator's own play."""
    session.require(draft.nodes)
    session.deployment = name_of(options, draft)
    session.lock(draft.nodes)
    compiled = decide(options, session, draft, own)
    while session.lock(step.node for step in compiled.plan.steps):
        compiled = decide(options, session, draft, own)
    session.secrets |= keys_of(session, compiled.situation, compiled.plan)
    session.report.hide(*session.secrets.values())
    for finding in compiled.findings:
        session.report.note(f"{finding.id}: {finding.message}", finding.node)
    if compiled.plan.changes:
        impact = documents.impact(compiled)
        for label, text in told(impact):
            session.report.note(f"{label}: {text}")
        session.report.expect(impact["seconds"] if compiled.situation.loads_all else None)
        session.about(session.deployment, replaces=compiled.situation.replaces)
    # Before: if this run is killed and a node goes away, the next one must know.
    placed = [member.name for member in compiled.situation.revision.members]
    deployments.add(session.inventory.source, placed, session.deployment)
    began = session.fleet.now()
    execute(compiled.plan, session)
    session.report.done = serves(compiled.situation.revision)
    gone = (stored.deployment for _, stored, _ in compiled.situation.replaced)
    session.settled = (session.deployment, *gone, *(() if options.alongside else (EVERYTHING,)))
    tell_of_fleet(session, (container for _, _, container in compiled.situation.replaced))
    seconds = session.fleet.now() - began
    session.load = noted(compiled.situation, seconds, {})
    if compiled.plan.changes:
        session.load = noted(compiled.situation, seconds, measure(session, placed))
    return compiled


def decide(options: PlanOptions, session: Session, first: Draft, own: OwnPlay | None = None) -> Compiled:
    """Observe, judge, compile; raises `Refused` if a rule or check refuses or the plan is not that of `--expect`."""
    draft, situation = observe(options, session, first)
    refuse_newcomers(options.only, [stored for _, stored, _ in situation.replaced])
    findings = (*draft.findings, *judge(situation, options.allow))
    plan = compile_plan(situation, draft, session, own)
    if plan.changes and options.expect not in (None, plan.id):
        raise Refused(
            f"the plan's id is {plan.id}, not {options.expect}",
            hint="read the new plan: `sparkops plan` with the options of this command",
        )
    return Compiled(draft, situation, plan, findings, *(changes(situation) if plan.changes else ((), ())))


def _benchmark(options: PlanOptions, recipe: Recipe, report: Report) -> "after_deploy.WantedBench | None":
    """Return the benchmark of `--bench`, else of the recipe; None for an empty suite."""
    by_recipe = recipe.benchmark is not None and recipe.benchmark.enabled
    if not (by_recipe if options.bench is None else options.bench):
        return None
    from sparkops.verbs.bench import after_deploy  # noqa: PLC0415  most deploys have no benchmark

    return after_deploy.wanted(options.where, options.bench, recipe, report)
