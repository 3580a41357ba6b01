"""What serves on the nodes before something else takes its place, and how it comes back."""

from dataclasses import dataclass

from sparkops.core.bench.experiment import Before
from sparkops.core.target import Target
from sparkops.errors import SparkopsError, StepFailed
from sparkops.phases.parts import DeployedRevision, deployed_revisions
from sparkops.report.report import Report
from sparkops.session.open import reached
from sparkops.verbs.deploy.options import RollbackOptions, StopOptions
from sparkops.verbs.deploy.rollback import rollback
from sparkops.verbs.deploy.stop import stop


@dataclass(frozen=True)
class Restored:
    """What serves again, or why it does not."""

    titles: tuple[str, ...] = ()
    error: SparkopsError | None = None


def serving(where: Target, report: Report) -> list[DeployedRevision]:
    """Every revision that runs on these nodes."""
    with reached(where, report) as session:
        return [one for one in deployed_revisions(session.containers()) if one.runs]


def before(running: list[DeployedRevision]) -> Before:
    """What to bring back after the experiment: hashes for sparkops, titles for people."""
    return Before(tuple(sorted(one.stored.hash for one in running)), tuple(one.title for one in running))


def restore(wanted: Before, where: Target, report: Report) -> Restored:
    """Go back to what served; what serves beside it, or where nothing did, is stopped."""
    report.note(f"restoring {', '.join(wanted.titles) or 'nothing: nothing served before'}")
    due = frozenset(wanted.hashes)
    try:
        now = frozenset(before(serving(where, report)).hashes)
        if due - now:
            rollback(RollbackOptions(where, to=due), report)
        elif now - due:
            stop(StopOptions(where, but=due), report)
    except SparkopsError as error:
        text = f"what served before could not be restored: {error.message}"
        return Restored(error=StepFailed(text, node=error.node, hint="`sparkops status`, then `sparkops rollback`"))
    return Restored(wanted.titles)
