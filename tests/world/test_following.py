"""Logs that are followed: each line once and whole, through restarts and lost connections, until Ctrl-C."""

from __future__ import annotations

import io

from sparkops.asks import LogsOptions
from sparkops.report.report import Report
from sparkops.testing import SimulatedWorld, Trouble
from sparkops.testing.operator import SIMULATED, Operator
from sparkops.testing.sparks import sparks
from sparkops.workflows.following import Lines
from sparkops.workflows.look import logs_on


def served(topology: str) -> SimulatedWorld:
    world = sparks()
    Operator(world).deploy(topology)
    return world


def followed(world: SimulatedWorld) -> tuple[int, list[str], str]:
    person = Operator(world)
    session = person._session("logs")
    out, err = io.StringIO(), io.StringIO()
    session.report = Report("logs", out=out, err=err)
    answer = logs_on(LogsOptions(SIMULATED, follow=True), session)
    return answer.code, out.getvalue().splitlines(), err.getvalue()


def test_every_node_is_followed_until_an_interrupt() -> None:
    world = served("cluster")
    code, lines, told = followed(world.survivors(troubles=[Trouble("interrupt", 12)]))
    assert (code, told) == (130, "")
    for name, node in world.nodes.items():
        (one,) = node.engine.listed(["label=sparkops.schema"])
        assert [line for line in lines if line.startswith(f"{name}: ")] == [f"{name}: {text}" for text in one.log]


def test_a_lost_connection_shows_no_line_twice_and_is_said() -> None:
    world = served("2x-solo")
    troubles = [Trouble("lost-applied", 6, 30.0), Trouble("interrupt", 60)]
    code, lines, told = followed(world.survivors(troubles=troubles))
    assert code == 130
    assert "trying again" in told
    assert len(lines) == len(set(lines)) > 0
    assert {line.partition(":")[0] for line in lines} == {"spark1 server", "spark1 proxy", "spark2"}


def test_what_ended_for_good_is_followed_no_longer() -> None:
    world = served("solo")
    for one in world.nodes["spark1"].engine.containers.values():
        one.state = "exited"
    code, lines, told = followed(world)
    assert code == 0
    assert "followed no longer" in told


def test_lines_come_whole_whatever_the_pieces_are_and_of_a_progress_bar_the_last_state() -> None:
    shown: list[str] = []
    lines = Lines(shown.append)
    for piece in (
        b"2026-01-01T00:00:01Z on",
        b"e\n2026-01-01T00:00:02Z 1%\r50%\r100%\r\n2026-01-01T00:00:02Z h",
        b"\xc3\xa9\n2026-",
    ):
        lines.take(piece)
    assert shown == ["one", "100%", "hé"]
    lines.again()
    assert lines.latest == "2026-01-01T00:00:02Z"
    lines.take(b"2026-01-01T00:00:02Z h\xc3\xa9\n2026-01-01T00:00:03Z new\n")
    assert shown[3:] == ["new"]
