"""`bench topologies`: deploy and measure each topology, then restore what served before."""

from dataclasses import replace
from pathlib import Path

from sparkops.core import topology
from sparkops.core.bench.experiment import Before
from sparkops.errors import Interrupted, SparkopsError, StepFailed, Unreachable, UsageError
from sparkops.files import own_files
from sparkops.report.answer import Answer
from sparkops.report.report import Report
from sparkops.session.open import selected
from sparkops.verbs.bench.options import TopologiesOptions
from sparkops.verbs.bench.records import comparison
from sparkops.verbs.bench.run import require, suite_of
from sparkops.verbs.deploy.draft import drafted
from sparkops.verbs.topologies.experiment_runner import ExperimentRunner, Restored, begun, nodes_of, plan

AGAIN = "run the command again to continue, or with --anew to start over"


def topologies(options: TopologiesOptions, report: Report) -> Answer:
    """Run one suite on each topology, then report; always restores what served before."""
    runner = begun(options, _recipe(options, report), report)
    interrupted = False
    try:
        runner.measure()
    except (Interrupted, KeyboardInterrupt):
        interrupted = True
    finally:
        restored = runner.bring_back()
    if isinstance(restored.error, Interrupted):
        raise restored.error
    if interrupted and restored.error:
        raise Interrupted(restored.error.message, hint=restored.error.hint)
    if interrupted:
        raise Interrupted("what served before was restored", hint=AGAIN)
    return _answer(runner, restored)


def _recipe(options: TopologiesOptions, report: Report) -> str:
    """Return the recipe's name; refuses wrong options before anything is stopped."""
    suite_of(options.bench)
    require(options.bench)
    for wanted in options.topologies:
        topology.parse(wanted)
    if len(set(options.topologies)) < max(2, len(options.topologies)):
        raise UsageError("--topologies: name two or more topologies, each once")
    if options.output:
        own_files.check_writable(Path(options.output))
    names = []
    for wanted in options.topologies:
        where = nodes_of(wanted, options.bench.where, report)
        draft = drafted(plan(wanted, where, options, Before()), selected(where, report))
        names.append(draft.effective.recipe.name)
    return names[0]


def _answer(runner: ExperimentRunner, restored: Restored) -> Answer:
    """Return the comparison, with an error if a topology was not measured or the restore failed."""
    if not runner.records:
        raise restored.error or next(iter(runner.failed.values()))
    reasons = {wanted: error.message for wanted, error in runner.failed.items()}
    records = list(runner.records.values())
    made = comparison(records, frozenset({"topology"}), runner.options.output, reasons)
    more = {"runs": [one.id for one in records], "restored": ", ".join(restored.titles), "failed": reasons}
    return replace(made, document={**made.document, **more}, error=restored.error or _failure(runner.failed))


def _failure(failed: dict[str, SparkopsError]) -> SparkopsError | None:
    """Return one error for all failures; a lost node comes first."""
    if not failed:
        return None
    lost = [error for error in failed.values() if isinstance(error, Unreachable)]
    first = [*lost, *failed.values()][0]
    text = "; ".join(f"{wanted}: not measured: {error.message}" for wanted, error in failed.items())
    return (Unreachable if lost else StepFailed)(text, node=first.node, step=first.step, hint=AGAIN)
