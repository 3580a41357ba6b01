"""`bench topologies`: the article's experiment. Each topology is deployed and measured, then what served comes back."""

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

AGAIN = "run the command again to continue; `--anew` starts over"


def topologies(options: TopologiesOptions, report: Report) -> Answer:
    """One suite on each topology in turn, then one report; what served before serves again, whatever happens."""
    course = begun(options, _recipe(options, report), report)
    interrupted = False
    try:
        course.measure()
    except (Interrupted, KeyboardInterrupt):
        interrupted = True
    finally:
        restored = course.bring_back()
    if interrupted and restored.error:
        raise Interrupted(f"interrupted; {restored.error.message}", hint=restored.error.hint)
    if interrupted:
        raise Interrupted("interrupted; what served before was restored", hint=AGAIN)
    return _answer(course, restored)


def _recipe(options: TopologiesOptions, report: Report) -> str:
    """The recipe's name. What can be wrong with the question is said before anything is stopped."""
    suite_of(options.bench)
    require(options.bench)
    for wanted in options.topologies:
        topology.parse(wanted)
    if len(set(options.topologies)) < max(2, len(options.topologies)):
        raise UsageError("--topologies: name at least two different topologies")
    if options.output:
        own_files.check_writable(Path(options.output))
    names = []
    for wanted in options.topologies:
        where = nodes_of(wanted, options.bench.where, report)
        draft = drafted(plan(wanted, where, options, Before()), selected(where, report), report)
        names.append(draft.effective.recipe.name)
    return names[0]


def _answer(course: ExperimentRunner, restored: Restored) -> Answer:
    """The comparison of what was measured, and an error where something was not, or did not come back."""
    if not course.records:
        raise restored.error or next(iter(course.failed.values()))
    reasons = {wanted: error.message for wanted, error in course.failed.items()}
    records = list(course.records.values())
    made = comparison(records, frozenset({"topology"}), course.options.output, reasons)
    told = {"runs": [one.id for one in records], "restored": ", ".join(restored.titles), "failed": reasons}
    return replace(made, document={**made.document, **told}, error=restored.error or _failure(course.failed))


def _failure(failed: dict[str, SparkopsError]) -> SparkopsError | None:
    """All of them in one; a node that was lost comes first."""
    if not failed:
        return None
    lost = [error for error in failed.values() if isinstance(error, Unreachable)]
    first = [*lost, *failed.values()][0]
    text = "; ".join(f"{wanted}: not measured: {error.message}" for wanted, error in failed.items())
    return (Unreachable if lost else StepFailed)(text, node=first.node, step=first.step, hint=AGAIN)
