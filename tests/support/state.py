"""What the nodes hold when a test fails: a section of the report, so that nobody has to run the test again to see it.

A test has a lab where a value of its fixtures has a `directory` with a `lab.json` (an embedded lab), a `world` (a
simulated one) or `state_of_nodes` (a real one), or where a function among them keeps such values as `made`.
"""

import json
import shlex
from collections.abc import Generator, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

LINES = 150
WIDTH = 180
CONTAINER_LOG, COMMANDS, RUN_LOG, SENT = 8, 10, 15, 30


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: Any) -> Generator[None, Any, Any]:
    """A failed test tells what was left of its lab, or why that cannot be read."""
    report = yield
    if report.failed and call.when != "teardown":
        given = getattr(item, "funcargs", {}).items()
        labs = [(name, one) for name, value in given for one in (value, *reversed(getattr(value, "made", ())))]
        told = ((f"state of `{name}`", _told(one)) for name, one in labs)
        report.sections += list(islice((section for section in told if section[1]), 1))
    return report


def _told(value: Any) -> str:
    try:
        if hasattr(value, "state_of_nodes"):
            return _bounded(value.state_of_nodes().splitlines())
        if hasattr(getattr(value, "world", None), "sent"):
            return of_world(value)
        directory = getattr(value, "directory", value)
        if isinstance(directory, Path) and (directory / "lab.json").exists():
            return of_lab(directory, getattr(value, "home", None))
    except Exception as error:  # what a test broke may be what is read here
        return f"cannot be read: {error!r}"
    return ""


def of_lab(directory: Path, home: Path | None = None) -> str:
    """Faults, containers, logs and last commands of each node, then the last run log of the person with this home."""
    nodes = sorted((directory / "nodes").iterdir(), key=lambda path: (len(path.name), path.name))
    about = [list(_node(path)) for path in nodes]
    told = [line for lines in about if len(lines) > 1 or len(nodes) == 1 for line in lines]
    return _bounded([*_run_log(home), *(told or (line for lines in about for line in lines))])


def _node(path: Path) -> Iterator[str]:
    from sparklab.fake_docker.store import containers
    from sparklab.layout import Node

    faults = sorted(one.name for one in (path / "faults").iterdir())
    yield f"{path.name}: {'faults ' + ', '.join(faults) if faults else 'no fault'}"
    for one in containers(Node(path)):
        state = one.state()
        code, restarts = state.get("exit_code", 0), state.get("restarts", 0)
        yield f"  {one.name}: {state['status']}, exit code {code}, {restarts} restarts"
        yield from (f"    | {row.get('log', '').rstrip()}" for row in _last(Path(one.log), CONTAINER_LOG))
    for row in _last(path / "ssh.jsonl", COMMANDS):
        more = " ".join(f"{key}={row[key]}" for key in ("kind", "off") if key in row)
        yield f"  {row.get('event')} {more}{shortened(row.get('line', ''))}"


def _run_log(home: Path | None) -> Iterator[str]:
    logs = (home / "state" / "sparkops" / "runs").glob("*.jsonl") if home else ()
    for path in sorted(logs, key=lambda one: one.stat().st_mtime_ns)[-1:]:
        yield f"run log {path.name}"
        for row in _last(path, RUN_LOG):
            more = (f"{key}={value}" for key, value in row.items() if key not in ("event", "run", "timestamp"))
            yield f"  {row.get('event')} {' '.join(more)}"


def _last(path: Path, count: int) -> list[dict[str, Any]]:
    """The last whole lines of a file of JSON lines."""
    lines = path.read_text(errors="replace").split("\n")[:-1] if path.exists() else []
    return [json.loads(line) for line in lines[-count:]]


def shortened(line: str) -> str:
    """A command line without the text of our scripts, of which the name follows."""
    try:
        words = shlex.split(line)
    except ValueError:
        words = [line]
    return " ".join("…" if "\n" in word else word for word in words)


def of_world(lab: Any) -> str:
    """The containers of each simulated node and the last commands that it got, then the last run log."""
    from support.world import Received

    told: list[str] = []
    for name, node in lab.world.nodes.items():
        told.append(f"{name}:")
        for one in node.engine.listed():
            told.append(f"  {one.name}: {one.state}, exit code {one.exit_code}, {one.restarts} restarts")
            told += [f"    | {line}" for line in one.log[-CONTAINER_LOG:]]
    sent = lab.world.sent[-SENT:]
    told.append(f"the last {len(sent)} of {len(lab.world.sent)} commands:")
    for one in sent:
        ended = one.result.code if one.result else "not applied" if not one.applied else "?"
        told.append(f"  {one.node} [{ended}] {Received(one.node, one.command).shown}")
    return _bounded([*_run_log(lab.home), *told])


def _bounded(lines: list[str]) -> str:
    """At most LINES lines: the first and the last, with how many are left out between."""
    cut = [line if len(line) <= WIDTH else f"{line[: WIDTH - 1]}…" for line in lines]
    if len(cut) > LINES:
        kept = LINES // 2
        cut = [*cut[:kept], f"… {len(cut) - 2 * kept} lines left out …", *cut[-kept:]]
    return "\n".join(cut)
