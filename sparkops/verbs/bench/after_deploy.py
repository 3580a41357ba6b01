"""A benchmark right after a deployment: `deploy --bench`, or a recipe that says so."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from sparkops.core.bench.suites import Suite
from sparkops.core.recipe import Recipe
from sparkops.core.target import Target
from sparkops.errors import Interrupted, Refused, SparkopsError, StepFailed
from sparkops.node_commands import benchy
from sparkops.report.report import Report
from sparkops.session import llama_benchy
from sparkops.session.session import Session
from sparkops.verbs.bench import run
from sparkops.verbs.bench.options import BenchOptions

TOOL = "llama-benchy"
OWN = "recipe"
"""`--bench` without a suite: what the recipe itself describes."""
NO_NUMBERS: Mapping[str, Any] = {"id": None, "ok": False, "record": None, "rows": []}


@dataclass(frozen=True)
class WantedBench:
    """What to measure; `refused` are options of the recipe that sparkops does not support."""

    options: BenchOptions
    suite: Suite
    refused: tuple[str, ...] = ()

    @property
    def summary(self) -> str:
        return f"{self.suite.title}, {self.suite.requests} requests"

    def measure(self, deployment: str, session: Session) -> tuple[Mapping[str, Any], SparkopsError | None]:
        """Return the benchmark's document, and an error without numbers; the deployment serves in either case."""
        report = session.report
        report.note(f"{deployment} serves; measuring it: {self.summary}")
        for line in self.refused:
            report.warn(f"the recipe's benchmark: {line}")
        try:
            found = run.answer(run.run_on(replace(self.options, deployment=deployment), self.suite, session))
        except KeyboardInterrupt:
            return NO_NUMBERS, Interrupted(f"{deployment} serves, but was not measured")
        except Interrupted as error:
            error.message += f"; {deployment} still serves"
            return NO_NUMBERS, error
        except Refused as error:
            return NO_NUMBERS, StepFailed(
                f"{deployment} serves, but was not measured: {error.message}", hint=error.hint
            )
        except SparkopsError as error:
            return NO_NUMBERS, error
        return found.document, found.error


def wanted(where: Target, suite: str | None, recipe: Recipe, report: Report) -> WantedBench | None:
    """Return what to measure, before the deploy: a benchmark that cannot run is refused before minutes of loading.

    `suite` is None where only the recipe asks; then a tool that is missing is a warning.
    """
    if suite is None and not llama_benchy.tool().installed():
        report.warn(f"cannot run the benchmark of {recipe.name} without llama-benchy; install it: {run.EXTRA}")
        return None
    asked = BenchOptions(where, suite or OWN)
    run.require(asked)
    if asked.suite != OWN:
        return WantedBench(asked, run.suite_of(asked))
    smoke = run.suite_of(replace(asked, suite="smoke"))
    if recipe.benchmark is None:
        return WantedBench(asked, smoke)
    own = replace(smoke, id=OWN, title=f"The benchmark of {recipe.name}", source="its recipe")
    made, refused = benchy.adjusted(own, benchy.options(recipe.benchmark.args))
    other = recipe.benchmark.framework
    return WantedBench(asked, made, (*([f"sparkops uses {TOOL}, not {other}"] if other != TOOL else ()), *refused))
