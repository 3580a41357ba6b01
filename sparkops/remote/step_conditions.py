"""An operator's terms during the run: whether a step is sent, and under which name its result is registered."""

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from sparkops.core.plan import Result, Step
from sparkops.core.playbook.expression import Const
from sparkops.core.playbook.names import BadExpression, Path, dotted, word
from sparkops.remote import Cancel, World

Verdict = Literal["run", "skipped", "held", "undecided"]

PASSED_OVER: Mapping[str, Any] = {"code": None, "stdout": "", "stderr": "", "ended": "skipped"}
"""The registered result of a step that did not run."""


class Registered:
    """Registered results of a play's steps, by node and name."""

    def __init__(self) -> None:
        self._known: dict[str, dict[str, Mapping[str, Any]]] = {}

    def verdict(self, step: Step, world: World, cancel: Cancel) -> Verdict:
        """Whether to send the step; raises `NodeLost` if the node is lost while its `unless` runs."""
        terms = step.terms
        if terms is None:
            return "run"
        if terms.when is not None:
            done = terms.when.settle(self._known.get(step.node, {}))
            if not isinstance(done, Const):
                return "undecided"
            if not done.value:
                self._put(step, PASSED_OVER)
                return "skipped"
        if terms.unless is not None and world.send(step.node, terms.unless, cancel).ok:
            self._put(step, PASSED_OVER)
            return "held"
        return "run"

    def keep(self, step: Step, result: Result) -> None:
        text = {"stdout": result.stdout.strip(), "stderr": result.stderr.strip()}
        self._put(step, {"code": result.code, "ended": result.ended, **text})

    def share(self, steps: Iterable[Step], nodes: Iterable[str]) -> None:
        """Register the results of `run_once` steps on every node."""
        for step in steps:
            name = step.terms.register if step.terms and step.terms.once else None
            if name and (known := self._known.get(step.node, {}).get(name)):
                for node in nodes:
                    self._known.setdefault(node, {}).setdefault(name, known)

    def message(self, step: Step) -> str:
        """The step's message with results filled in; the name of a missing result stays as it is."""
        known = self._known.get(step.node, {})
        parts = step.terms.message if step.terms else ()
        return "".join(part if isinstance(part, str) else _told(part, known) for part in parts)

    def _put(self, step: Step, known: Mapping[str, Any]) -> None:
        if step.terms and step.terms.register:
            self._known.setdefault(step.node, {})[step.terms.register] = known


def _told(path: Path, known: Mapping[str, Any]) -> str:
    try:
        return word(path, known)
    except BadExpression:
        return f"{{{{ {dotted(path)} }}}}"
