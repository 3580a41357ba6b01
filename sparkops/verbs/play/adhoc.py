"""`run`: one command, sent unchanged to every selected node."""

import shlex
from collections.abc import Sequence
from typing import Any

from sparkops.core.plan import Command, NodeLost, Result
from sparkops.errors import StepFailed
from sparkops.remote.gather import gather
from sparkops.report.answer import Answer
from sparkops.report.report import Report
from sparkops.session.open import reached
from sparkops.verbs.play.options import RunOptions

NOT_FOUND = 127
"""Exit code for a program that does not exist."""


def run(options: RunOptions, report: Report) -> Answer:
    """Run the operator's command without lock and undo; Ctrl-C ends it on the nodes."""
    with reached(options.where, report) as session:
        command = Command(options.words, reads=True, become=options.become, timeout=options.timeout)
        answers = gather(session.fleet, {node.name: command for node in session.there})
        session.away.update({name: lost for name, lost in answers.items() if isinstance(lost, NodeLost)})
        results = [_result(name, answer) for name, answer in answers.items() if isinstance(answer, Result)]
        bad = [one for one in results if one["code"] != 0 or one["ended"] != "exited"]
        return session.answer({"results": results}, _failed(bad, options.words) if bad else None)


def _result(name: str, result: Result) -> dict[str, Any]:
    told = {"stdout": result.stdout, "stderr": result.stderr}
    return {"node": name, "code": result.code, "ended": result.ended, **told, "seconds": round(result.seconds, 2)}


def _failed(bad: list[dict[str, Any]], words: Sequence[str]) -> StepFailed:
    line = len(words) == 1 and " " in words[0] and bad[0]["code"] == NOT_FOUND
    hint = f"for a line of a shell: `sparkops run -- sh -c {shlex.quote(words[0])}`" if line else None
    names = ", ".join(one["node"] for one in bad)
    ended = "exceeded its time limit" if bad[0]["ended"] == "timeout" else f"ended with exit code {bad[0]['code']}"
    return StepFailed(f"{names}: the command {ended}", node=bad[0]["node"], hint=hint)
