"""`run`: one command on every selected node, as it is."""

from __future__ import annotations

from typing import Any

from sparkops.core.plan import Command, NodeLost, Result
from sparkops.errors import StepFailed
from sparkops.remote.gather import gather
from sparkops.report.answer import Answer
from sparkops.report.report import Report
from sparkops.session.session import reached, unreachable
from sparkops.verbs.play.options import RunOptions


def run(options: RunOptions, report: Report) -> Answer:
    """Whatever it does is the operator's own: no lock, no undo; Ctrl-C ends it on the nodes."""
    with reached(options.where, report) as session:
        command = Command(options.words, reads=True, become=options.become, timeout=options.timeout)
        wanted = {node.name: command for node in session.selected if node.name not in session.away}
        answers = gather(session.fleet, wanted)
        results = [_result(name, answer) for name, answer in answers.items() if isinstance(answer, Result)]
        lost = {node.name: session.away.get(node.name) or _lost(answers.get(node.name)) for node in session.selected}
        away = {name: error for name, error in lost.items() if error is not None}
        bad = [one for one in results if one["code"] != 0 or one["ended"] != "exited"]
        error = unreachable(next(iter(away.values()))) if away else _failed(bad) if bad else None
        return Answer({"results": results, "unreachable": {n: e.reason for n, e in away.items()}}, error=error)


def _lost(answer: Result | NodeLost | None) -> NodeLost | None:
    return answer if isinstance(answer, NodeLost) else None


def _result(name: str, result: Result) -> dict[str, Any]:
    told = {"stdout": result.stdout, "stderr": result.stderr}
    return {"node": name, "code": result.code, "ended": result.ended, **told, "seconds": round(result.seconds, 2)}


def _failed(bad: list[dict[str, Any]]) -> StepFailed:
    names = ", ".join(one["node"] for one in bad)
    ended = "ran into its time limit" if bad[0]["ended"] == "timeout" else f"ended with exit code {bad[0]['code']}"
    return StepFailed(f"{names}: the command {ended}", node=bad[0]["node"])
