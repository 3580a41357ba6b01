"""Following a job that goes on on the nodes whatever becomes of us."""

from collections.abc import Callable

from sparkops.core.plan import Plan
from sparkops.errors import Interrupted, SparkopsError, StepFailed
from sparkops.session.execute import execute
from sparkops.session.session import Session


def follow_job(plan: Plan, session: Session, job: str, advice: Callable[[StepFailed], str] = lambda _: "") -> None:
    """Start it or take it up again. `advice` knows better than the job's log what to do after a failure.

    What is interrupted goes on by itself, and the same command follows it again.
    """
    again = f"run the command again to follow it; end it: `sparkops jobs cancel {job}`"
    try:
        execute(plan, session)
    except Interrupted as error:
        raise Interrupted(f"interrupted; {job} continues on the node", hint=again) from error
    except StepFailed as error:
        error.hint = advice(error) or f"see its whole log: `sparkops jobs logs {job}`"
        raise
    except SparkopsError as error:
        error.hint = f"{job} may still run: {again}"
        raise
