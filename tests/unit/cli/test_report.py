"""What a person, a script and the run log get of the same run."""

import io
import json
import os
import stat
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path
from textwrap import indent
from typing import Any

import pytest
import structlog
import yaml

from sparkops import errors
from sparkops.cli import registry
from sparkops.core.plan import Event
from sparkops.errors import StepFailed
from sparkops.report.answer import Answer
from sparkops.report.report import Report
from sparkops.report.runlog import KEPT_RUNS, RunLog
from sparkops.report.streams import Output
from sparkops.report.terminal import LiveScreen
from sparkops.report.text import How
from support import golden

LOADING = "wait loading\nstate running\nLoading safetensors checkpoint shards:  {}% Completed | 1/9 [..]"


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
    how: How = field(default_factory=How)

    def __post_init__(self) -> None:
        self.report = Report(
            self.verb,
            as_json=self.as_json,
            log=self.log,
            how=self.how,
            show=registry.show,
            out=self.out,
            err=self.err,
            clock=self.clock,
        )


@pytest.fixture
def log(tmp_path: Path) -> Iterator[RunLog]:
    log = RunLog({"XDG_STATE_HOME": str(tmp_path)}, "deploy", "cafe0001")
    yield log
    log.close()


def lines(log: RunLog) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(log.path).read_text(encoding="utf-8").splitlines()]


def reported(places: Iterator[Path], block: str) -> str:
    """What stands on stdout and (`! `) on stderr of a run: its events, `after` seconds each, and how it ended.

    It is expected to take `expect` seconds.
    """
    asked = yaml.safe_load(block)
    log = RunLog({"XDG_STATE_HOME": str(next(places))}, asked["verb"], "cafe0001")
    how = How(False, "sparkops -i a.yml", frozenset(("status",)))
    desk = Desk(asked["verb"], asked.get("json", False), log, how=how)
    desk.report.expect(asked.get("expect"))
    for event in asked.get("events", ()):
        desk.clock.now += event.pop("after", 0)
        desk.report.emit(Event(**event))
    error = asked.get("error")
    failed = getattr(errors, error.pop("kind"))(error.pop("message"), **error) if error else None
    code = desk.report.finish(Answer(asked.get("answer", {}), error=failed, exit_code=asked.get("exit_code", 0)))
    log.close()
    told = desk.out.getvalue() + indent(desk.err.getvalue(), "! ") + f"[exit {code}]"
    return told.replace(str(log.path), "LOG")


def test_a_run_is_reported_as_its_file_says(tmp_path: Path) -> None:
    places = (tmp_path / str(number) for number in count())
    golden.hold_blocks(Path(__file__).parent / "reported.txt", partial(reported, places))


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
    desk.report.emit(Event("warning", "working", "spark1"))
    assert desk.report.finish(Answer({"changed": True})) == 0
    assert capsys.readouterr().err.count("the run log cannot be written") == 1


def test_a_secret_never_reaches_the_run_log(log: RunLog) -> None:
    desk = Desk(log=log)
    secret = 'pa"ss\\word'
    desk.report.hide(secret, None, "")
    desk.report.emit(Event("warning", f"the node said {secret}", "spark1"))
    text = Path(log.path).read_text(encoding="utf-8")
    assert "pa" not in json.loads(text)["text"]
    assert "***" in text


def test_a_short_secret_is_not_shown_by_the_gap_that_it_leaves_in_a_word(log: RunLog) -> None:
    desk = Desk(log=log)
    desk.report.hide("spark", "s" * 20)
    assert desk.report.masked('sparkops -i spark1 run spark "spark" é: spark') == (
        'sparkops -i spark1 run *** "***" é: ***'
    )
    assert desk.report.masked("key=" + "s" * 21) == "key=***s"
    desk.report.hide("$ecret!")
    assert desk.report.masked("name$ecret!next") == "name***next"
    desk.report.emit(Event("warning", "line\nspark\tspark \x1b[31mspark \x1bspark", "spark1"))
    assert json.loads(Path(log.path).read_text(encoding="utf-8"))["text"].count("***") == 4


def test_bytes_that_are_no_text_reach_the_run_log_as_escapes(log: RunLog) -> None:
    Desk(log=log).report.emit(Event("warning", "n\udce9\udc9b"))
    assert r"n\udce9\udc9b" in Path(log.path).read_text(encoding="utf-8")


def test_a_bug_leaves_its_traceback_in_the_log_and_the_path_on_the_screen(log: RunLog) -> None:
    desk = Desk(log=log)
    with pytest.raises(KeyError) as caught:
        {}["layers"]
    assert desk.report.bug(caught.value) == 1
    assert "Traceback" not in desk.err.getvalue()
    assert f"report it to the authors of sparkops, and attach {log.path}" in desk.err.getvalue()
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


def test_on_a_terminal_each_node_has_one_live_line_above_what_is_still_to_come() -> None:
    stream, clock = Terminal(), Clock()
    report = Report("deploy", err=stream, out=io.StringIO(), screen=LiveScreen(stream, clock), clock=clock)
    report.expect(200)
    report.emit(Event("phase", step="start containers", data={"number": 3, "of": 9, "next": "wait for the engines"}))
    report.emit(Event("start", node="spark1", step="s", title="start the head"))
    report.emit(Event("start", node="spark2", step="t", title="start the worker"))
    clock.now = 65
    report.emit(Event("progress", LOADING.format(56), "spark1", "s"))
    report.emit(Event("done", "", "spark2", "t", "start the worker"))
    report.finish(Answer({}))
    told = stream.getvalue()
    assert "spark2: start the worker: done (1:05)" in told
    assert "1:05  loading weights 56%" in told
    assert "[3/9] start containers, about 2 min left, then wait for the engines" in told


class Gone(io.StringIO):
    """A terminal or a pipe that nobody reads any more."""

    def write(self, text: str) -> int:
        raise BrokenPipeError


def test_a_run_goes_on_when_nobody_looks_any_more(log: RunLog) -> None:
    reads, writes = os.pipe()
    os.close(reads)
    with Output(os.fdopen(writes, "wb"), write_through=True) as gone:
        report = Report("deploy", log=log, out=gone, err=gone)
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
    asked = How(False, "sparkops --ask-become-pass", frozenset(("status", "stop", "cache")))
    assert asked.again("or: sparkops cache permit --ask-become-pass; `sparkops stop x`; add --ask-become-pass") == (
        "or: sparkops --ask-become-pass cache permit; `sparkops --ask-become-pass stop x`; add --ask-become-pass"
    )
    assert asked.again(asked.again("`sparkops stop x`")) == asked.again("`sparkops stop x`")
    for text in (
        "`sparkops rules ID` tells why",
        "by an older sparkops started",
        "sparkops -i x status",
        "sparkops-stop",
    ):
        assert how.again(text) == text
