"""What a person, a script and the run log get of the same run."""

from __future__ import annotations

import io
import json
import os
import stat
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import structlog

from sparkops.asks import Answer
from sparkops.core.plan import Event
from sparkops.errors import Refused, StepFailed, Unreachable
from sparkops.report.ending import Ending
from sparkops.report.report import Report
from sparkops.report.runlog import KEPT_RUNS, RunLog
from sparkops.report.terminal import LiveScreen
from sparkops.report.text import How

LOADING = "wait loading\nstate running\nLoading safetensors checkpoint shards:  {}% Completed | 1/9 [..]"
MARLIN = (
    "never container exited\n(Worker_TP1 pid=3) ERROR RuntimeError: Invalid thread config: thread_m_blocks = 1, "
    "thread_k = -1 for MKN = [256, 2880, 100544] and num_bits = 4, group_size = 32"
)


class Clock:
    """Time that passes only when told."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Desk:
    """A report with its streams at hand."""

    verb: str = "deploy"
    as_json: bool = False
    log: RunLog | None = None
    out: io.StringIO = field(default_factory=io.StringIO)
    err: io.StringIO = field(default_factory=io.StringIO)
    clock: Clock = field(default_factory=Clock)

    def __post_init__(self) -> None:
        self.report = Report(
            self.verb, as_json=self.as_json, log=self.log, out=self.out, err=self.err, clock=self.clock
        )  # fmt: skip


@pytest.fixture
def log(tmp_path: Path) -> Iterator[RunLog]:
    log = RunLog({"XDG_STATE_HOME": str(tmp_path)}, "deploy", "cafe0001")
    yield log
    log.close()


def lines(log: RunLog) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(log.path).read_text(encoding="utf-8").splitlines()]


def test_without_a_terminal_a_change_of_phase_is_one_line_not_one_a_poll() -> None:
    desk = Desk()
    desk.report.emit(Event("start", node="spark1", step="s", title="start the head"))
    for percent in (10, 20, 30, 30, 40):
        desk.clock.now += 5
        desk.report.emit(Event("progress", LOADING.format(percent), "spark1", "s"))
    desk.report.emit(Event("progress", "wait loading\nGPU KV cache size: 647,449 tokens", "spark1", "s"))
    assert desk.err.getvalue().splitlines() == [
        "spark1: loading weights 10% (0:05)",
        "spark1: room for 647,449 tokens (0:25)",
    ]
    assert desk.out.getvalue() == ""


def test_a_wait_without_an_engine_log_tells_its_reason() -> None:
    desk = Desk()
    desk.report.emit(Event("start", node="spark1", step="s", title="quiesce"))
    desk.report.emit(Event("progress", "wait 12 GiB still in use", "spark1", "s"))
    assert "spark1: 12 GiB still in use" in desk.err.getvalue()


def test_events_from_many_threads_do_not_mix() -> None:
    desk = Desk()

    def tell(node: str) -> None:
        for number in range(50):
            desk.report.emit(Event("note", f"{number} " + "x" * 50, node))

    threads = [threading.Thread(target=tell, args=(f"node{number}",)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    told = desk.err.getvalue().splitlines()
    assert len(told) == 400
    assert all(line.endswith("x" * 50) and line.startswith("node") for line in told)


def test_the_answer_is_alone_on_stdout_in_json() -> None:
    desk = Desk(as_json=True)
    desk.report.emit(Event("note", "working", "spark1"))
    code = desk.report.finish(Answer({"changed": True, "endpoints": []}))
    document = json.loads(desk.out.getvalue())
    assert code == 0
    head = {"schema": 1, "command": "deploy", "ok": True, "exit_code": 0, "run_log": None, "seconds": 0.0}
    assert document == {**head, "changed": True, "endpoints": []}
    assert "working" in desk.err.getvalue()


def test_a_failure_ends_with_last_lines_cause_next_step_and_log(log: RunLog) -> None:
    desk = Desk(log=log)
    desk.report.emit(Event("failed", MARLIN, "spark2", "serve.spark2", title="wait until it serves"))
    code = desk.report.fail(StepFailed("the engine ended", node="spark2", step="wait until it serves"))
    told = desk.err.getvalue().splitlines()
    assert code == 5
    start = told.index("last lines of spark2:")
    assert "Invalid thread config" in told[start + 2]
    assert [line.split(":")[0] for line in told[start + 3 :]] == [
        "error", "  at spark2, wait until it serves", "cause", "next", "log",
    ]  # fmt: skip
    assert "cluster-lm-head" in told[-2]
    assert told[-1] == f"log: {desk.report.run_log}"


def test_the_json_error_carries_diagnosis_and_last_lines() -> None:
    desk = Desk(as_json=True)
    desk.report.emit(Event("failed", MARLIN, "spark2", "serve.spark2", title="wait"))
    desk.report.finish(Answer({"changed": True}, error=StepFailed("the engine ended", node="spark2", step="wait")))
    error = json.loads(desk.out.getvalue())["error"]
    assert (error["kind"], error["node"], error["step"]) == ("failed", "spark2", "wait")
    assert error["diagnosis"]["id"] == "marlin-lm-head"
    assert error["hint"]
    assert error["logs"][0]["node"] == "spark2"


def test_an_answer_may_be_partial_and_still_fail() -> None:
    desk = Desk("stop")
    gone = Unreachable("spark2 does not answer", node="spark2")
    code = desk.report.finish(Answer({"removed": [{"node": "spark1", "container": "c"}]}, error=gone))
    assert code == 4
    assert "spark1  c" in desk.out.getvalue()
    assert "error: spark2 does not answer" in desk.err.getvalue()


def test_a_status_may_end_with_a_code_and_no_error() -> None:
    desk = Desk("status", as_json=True)
    assert desk.report.finish(Answer({"deployments": []}, exit_code=5)) == 5
    document = json.loads(desk.out.getvalue())
    assert document["ok"] is False
    assert "error" not in document


def test_every_event_is_a_line_of_the_run_log_and_the_file_is_private(log: RunLog) -> None:
    desk = Desk(log=log)
    desk.report.emit(Event("start", "@entry head", "spark1", "serve.spark1", "start the head", {"wave": 1}))
    desk.report.finish(Answer({}))
    start, end = lines(log)
    assert start["event"] == "start"
    assert (start["run"], start["node"], start["step"]) == ("cafe0001", "spark1", "serve.spark1")
    assert start["data"] == {"wave": 1}
    assert start["timestamp"].endswith("Z")
    assert (end["event"], end["exit_code"]) == ("end", 0)
    if os.name == "posix":
        assert stat.S_IMODE(Path(log.path).stat().st_mode) == 0o600


@pytest.mark.parametrize("code", [0, 3])
def test_a_run_that_only_looked_leaves_no_log(log: RunLog, code: int) -> None:
    desk = Desk("status", log=log, as_json=True)
    assert desk.report.finish(Answer({"deployments": []}, exit_code=code)) == code
    assert json.loads(desk.out.getvalue())["run_log"] is None
    assert log.path is None


def test_a_home_that_cannot_be_written_is_said_once_and_ends_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "sparkops").touch()
    desk = Desk(log=RunLog({"XDG_STATE_HOME": str(tmp_path)}, "deploy", "cafe0001"))
    desk.report.emit(Event("note", "working", "spark1"))
    assert desk.report.finish(Answer({"changed": True})) == 0
    assert capsys.readouterr().err.count("no run log") == 1


def test_a_secret_never_reaches_the_run_log(log: RunLog) -> None:
    desk = Desk(log=log)
    secret = 'pa"ss\\word'
    desk.report.hide(secret, None, "")
    desk.report.emit(Event("note", f"the node said {secret}", "spark1"))
    text = Path(log.path).read_text(encoding="utf-8")
    assert "pa" not in json.loads(text)["text"]
    assert "***" in text


def test_a_bug_leaves_its_traceback_in_the_log_and_the_path_on_the_screen(log: RunLog) -> None:
    desk = Desk(log=log)
    with pytest.raises(KeyError) as caught:
        {}["layers"]
    assert desk.report.bug(caught.value) == 1
    assert "Traceback" not in desk.err.getvalue()
    assert str(log.path) in desk.err.getvalue()
    assert "KeyError: 'layers'" in lines(log)[0]["traceback"]


def test_old_run_logs_are_removed(tmp_path: Path) -> None:
    folder = tmp_path / "sparkops" / "runs"
    folder.mkdir(parents=True)
    for number in range(KEPT_RUNS + 20):
        (folder / f"20200101T{number:06}Z-plan-x.jsonl").touch()
    log = RunLog({"XDG_STATE_HOME": str(tmp_path)}, "deploy", "cafe0001")
    log.write("end")
    log.close()
    assert len(list(folder.glob("*.jsonl"))) == KEPT_RUNS
    assert Path(log.path).exists()


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_on_a_terminal_each_node_has_one_live_line() -> None:
    stream, clock = Terminal(), Clock()
    report = Report("deploy", err=stream, out=io.StringIO(), screen=LiveScreen(stream, clock), clock=clock)
    report.emit(Event("start", node="spark1", step="s", title="start the head"))
    report.emit(Event("start", node="spark2", step="t", title="start the worker"))
    clock.now = 65
    report.emit(Event("progress", LOADING.format(56), "spark1", "s"))
    report.emit(Event("done", "", "spark2", "t", "start the worker"))
    report.finish(Answer({}))
    told = stream.getvalue()
    assert "spark2: start the worker (1:05)" in told
    assert "1:05  loading weights 56%" in told


class Gone(io.StringIO):
    """A terminal or a pipe that nobody reads any more."""

    def write(self, text: str) -> int:
        raise BrokenPipeError


def test_a_run_goes_on_when_nobody_looks_any_more(log: RunLog) -> None:
    report = Report("deploy", log=log, out=Gone(), err=Gone())
    for _ in range(2):
        report.emit(Event("undone", node="spark1", step="s", title="start the head"))
    assert report.fail(StepFailed("spark1: it ended")) == 5
    assert [entry["event"] for entry in lines(log)] == ["undone", "undone", "end"]


def test_a_full_disk_here_does_not_end_a_run(log: RunLog) -> None:
    log._log = structlog.wrap_logger(structlog.PrintLogger(Gone()), processors=[structlog.processors.JSONRenderer()])
    log.write("done", step="s")


def test_advice_is_to_be_typed_with_the_inventory_in_use_where_a_verb_reaches_nodes() -> None:
    how = How(False, "sparkops -i lab", frozenset(("status", "stop")))
    assert how.again("`sparkops status` lists them; sparkops stop ends one") == (
        "`sparkops -i lab status` lists them; sparkops -i lab stop ends one"
    )
    for text in (
        "`sparkops rules ID` tells why",
        "by an older sparkops started",
        "sparkops -i x status",
        "sparkops-stop",
    ):
        assert how.again(text) == text


def test_the_hint_of_an_error_carries_the_inventory_in_both_forms() -> None:
    for as_json in (False, True):
        out, err = io.StringIO(), io.StringIO()
        report = Ending(
            "stop", as_json=as_json, how=How(False, "sparkops -i a.yml", frozenset(("status",))), out=out, err=err
        )
        report.fail(Refused("no", hint="`sparkops status` shows"))
        assert "`sparkops -i a.yml status` shows" in out.getvalue() + err.getvalue()
