"""Carrying out upkeep on several nodes, of which one may fail: how it is on all of them is shown all the same."""

from sparkops.core.plan import Plan
from sparkops.errors import Interrupted, SparkopsError, StepFailed, Unreachable
from sparkops.remote.execute import StepFailure
from sparkops.session.session import Session


def attempt(plan: Plan, session: Session, hint: str | None = None) -> SparkopsError | None:
    """The error of the first node that failed, a lost one before others; raises only for an interrupt."""
    outcome = session.run(plan)
    if outcome.status == "interrupted":
        raise Interrupted("interrupted")
    if not outcome.failures:
        return None
    first = min(outcome.failures, key=lambda failure: not failure.lost)
    kind = Unreachable if first.lost else StepFailed
    return kind(f"{first.node}: {first.title}: {_said(first)}", node=first.node, step=first.title, hint=hint)


def _said(failure: StepFailure) -> str:
    """What the node said, which tells more than its exit code."""
    return " ".join(failure.evidence.split())[-500:] or failure.reason
