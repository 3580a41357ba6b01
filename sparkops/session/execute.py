"""Execute a plan, and turn its failures into the one error that the user sees."""

from collections.abc import Callable, Mapping

from sparkops.core.diagnosis import most_telling
from sparkops.core.plan import Plan
from sparkops.core.printable import last_lines
from sparkops.errors import Interrupted, SparkopsError, StepFailed, Unreachable
from sparkops.phases.verify import PROOF_SECONDS
from sparkops.remote.execute import Outcome, StepFailure
from sparkops.session.session import Session

WHAT_RUNS = "`sparkops status` shows what runs now; you can deploy again from any state"

DONE = "its steps on the nodes are done and stay: `sparkops status` shows what runs now"


def execute(plan: Plan, session: Session) -> Outcome:
    """Raises when the plan was not carried out; the hint says what was undone."""
    outcome, error = tried(plan, session)
    if error is not None:
        raise error
    if plan.changes:
        session.report.done = DONE
    return outcome


def tried(plan: Plan, session: Session) -> tuple[Outcome, SparkopsError | None]:
    """The outcome beside the error, for callers that report what was done in spite of a failure."""
    outcome = session.run(plan)
    return outcome, error_of(plan, outcome)


def error_of(plan: Plan, outcome: Outcome, hint: str = WHAT_RUNS) -> SparkopsError | None:
    """The one error that the user sees, with this next step after a failure; None if the whole plan was done."""
    if outcome.status == "done":
        return None
    error = _cause(outcome, hint)
    error.rolled_back = _rolled_back(outcome, {step.id: f"{step.node}: {step.title}" for step in plan.steps})
    return error


def _cause(outcome: Outcome, hint: str) -> SparkopsError:
    if outcome.status == "interrupted":
        return Interrupted(hint=WHAT_RUNS)
    if not outcome.failures:
        return SparkopsError("the steps ended, but it is unknown whether they succeeded", hint=WHAT_RUNS)
    first = _failure_to_show(outcome.failures)
    return _error(first, first.reason, hint)


def _failure_to_show(failures: tuple[StepFailure, ...]) -> StepFailure:
    """The failure to show: a lost node first, else the one whose log explains most."""
    index, _ = most_telling(failure.evidence for failure in failures) or (0, None)
    return next((failure for failure in failures if failure.lost), failures[index])


def attempt(plan: Plan, session: Session, hint: str | None = None) -> SparkopsError | None:
    """Run upkeep on several nodes; the error of the first node that failed, a lost one before others.

    Its message is the end of the step's output, which says more than an exit code. Raises only Interrupted.
    """
    outcome = session.run(plan)
    if outcome.status == "interrupted":
        raise Interrupted
    if not outcome.failures:
        return None
    first = min(outcome.failures, key=lambda failure: not failure.lost)
    return _error(first, last_lines(first.evidence) or first.reason, hint)


def follow_job(plan: Plan, session: Session, job: str, advice: Callable[[StepFailed], str] = lambda _: "") -> None:
    """Start a background job on the nodes, or follow one that runs. After an interrupt the job goes on.

    `advice` returns a hint for a failure, or "" for the job's log.
    """
    again = f"run the command again to follow the job, or cancel it: `sparkops jobs cancel {job}`"
    try:
        execute(plan, session)
    except Interrupted as error:
        raise Interrupted(f"the job {job} continues on the node", hint=again) from error
    except StepFailed as error:
        error.hint = advice(error) or f"see its whole log: `sparkops jobs logs {job}`"
        raise
    except SparkopsError as error:
        error.hint = error.hint and f"the job {job} may still run: {again}"
        raise


def _error(failure: StepFailure, why: str, hint: str | None) -> SparkopsError:
    read = most_telling([failure.evidence])
    refused = read is not None and read[1].id == "sudo-refused"  # the node did nothing, as with a refused login
    kind, hint = (Unreachable, None) if refused else (Unreachable if failure.lost else StepFailed, hint)
    return kind(f"{failure.node}: {failure.title}: {why}", node=failure.node, step=failure.title, hint=hint)


def _rolled_back(outcome: Outcome, titles: Mapping[str, str]) -> str | None:
    """Sentences; None if nothing was to be undone. `titles` has what a step does, by its id."""
    told = []
    if outcome.undone:
        told.append("Rolled back in part." if outcome.stuck else "Rolled back.")
    if outcome.unawaited:
        told.append("What served before was started again, but sparkops did not wait until it serves.")
    elif outcome.mute:
        told.append(f"What ran before was started again, but gave no answer within {PROOF_SECONDS} s.")
    elif outcome.revived and not outcome.stuck:
        told.append("What served before serves again.")
    if outcome.stuck:
        told.append(f"These steps could not be undone: {'; '.join(titles[one] for one in outcome.stuck)}.")
    if outcome.unknown:
        told.append(
            f"It is unknown whether these steps were done: {'; '.join(titles[one] for one in outcome.unknown)}."
        )
    return " ".join(told) or None
