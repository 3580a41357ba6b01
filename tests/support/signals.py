"""One signal to a real sparkops at one moment of one command, and whether the nodes end in a right state."""

import contextlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

SOLO = ("deploy", "--topology", "solo", "--limit", "node1")
CLUSTER = ("deploy", "--topology", "cluster", "--set", "args.max-model-len=2048")
IMAGE = "vllm-node-mxfp4"
PORTS = (8000, 4000)


@dataclass(frozen=True)
class Scenario:
    """A command, what serves before it (the last of these command lines), and about how many commands it sends."""

    before: tuple[tuple[str, ...], ...]
    words: tuple[str, ...]
    commands: int
    undone: bool = True
    """Whether an interrupt brings back what served; else one more command does."""

    again: bool = False
    """Whether the command itself completes what was begun, while what serves does so all the time."""


SCENARIOS = {
    "deploy": Scenario((), CLUSTER, 24),
    "switch": Scenario((SOLO,), CLUSTER, 30),
    "rollback": Scenario((SOLO, CLUSTER), ("rollback",), 24),
    "stop": Scenario((SOLO,), ("stop",), 8, undone=False),
    "rotate": Scenario((SOLO,), ("key", "rotate"), 12),
    "distribute": Scenario((SOLO,), ("image", "distribute", IMAGE), 20, again=True),
    "fetch": Scenario((SOLO,), ("model", "fetch", "acme/tiny"), 20, again=True),
    "experiment": Scenario((SOLO,), ("bench", "topologies", "--topologies", "solo,2x-solo", "--anew"), 60),
}


@dataclass(frozen=True)
class Row:
    """How one try ended: `undone`, `done`, `mended` by one command, or `wrong` with the reasons."""

    scenario: str
    signal: str
    moment: int
    code: int
    end: str
    wrong: tuple[str, ...] = ()


def tried(lab: Any, name: str, how: str, moment: int, delay: float = 0.0, **environment: str) -> Row:
    """`moment`: after so many commands that the nodes got; `delay`: seconds after it."""
    scenario = SCENARIOS[name]
    _prepare(lab, name, scenario)
    before = _state(lab)
    lab.mark()
    output = os.openpty() if how == "HUP" else os.pipe()
    process = _started(lab, scenario, output[1], environment)
    with os.fdopen(output[0], "rb", buffering=0) as reader:
        said = _signalled(lab, process, reader, how, moment, delay)
    wrong = [*_said_wrong(lab, how, process.returncode, said), *_lies(lab)]
    after = _state(lab)
    end = "undone" if after == before else "done" if process.returncode == 0 else ""
    if not end and process.returncode == 130 and after[1] and "is deployed and serves" in _end_of_log(lab):
        end = "done"
    if not end and (how == "KILL" or not scenario.undone):
        end = "mended"
        wrong += [*_failure(lab, scenario.before[-1] if scenario.before else scenario.words), *_lies(lab)]
        after = _state(lab)
        wrong += [] if after[1] else [f"nothing serves after the recovery: {after}"]
    if scenario.again:
        wrong += _failure(lab, scenario.words, **environment)
    if not end:
        wrong.append(f"it was {before} and is {after}")
    return Row(name, how, moment, process.returncode, end or "wrong", tuple(wrong))


def _failure(lab: Any, words: tuple[str, ...], **environment: str) -> list[str]:
    """Whether one ordinary command brings back or completes what was wanted."""
    ran = lab.cli(*words, **environment)
    return [f"{' '.join(words)} ended with {ran.code}: {ran.told[-600:]}"] if ran.code else []


def _prepare(lab: Any, name: str, scenario: Scenario) -> None:
    if not scenario.before:
        lab.clear()
    for words in scenario.before:
        lab.cli(*words, code=0)
    if name == "distribute" and lab.on("node2", "docker", "image", "ls", "-q", IMAGE):
        lab.on("node2", "docker", "rmi", "-f", IMAGE)


def _state(lab: Any) -> tuple[frozenset[Any], frozenset[Any]]:
    """Our containers that run, and the APIs that answer."""
    running = frozenset(one for one in lab.running() if one[1].startswith("sparkops-"))
    return running, frozenset((node, port) for node in lab.names for port in PORTS if _answers(lab, node, port))


def _answers(lab: Any, node: str, port: int) -> bool:
    with contextlib.suppress(OSError):
        return bool(lab.serves(node, port))
    return False


def _started(lab: Any, scenario: Scenario, out: int, environment: Mapping[str, str]) -> "subprocess.Popen[bytes]":
    try:
        return subprocess.Popen(
            lab.line(*scenario.words), env=lab.environment(**environment), cwd=lab.work,
            stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True,
        )  # fmt: skip
    finally:
        os.close(out)


def _signalled(lab: Any, process: Any, reader: Any, how: str, moment: int, delay: float) -> str:
    """Send it, then read what it still says; a closed terminal and a broken pipe have no reader from then on."""
    os.set_blocking(reader.fileno(), False)
    said = b""
    while process.poll() is None and lab._commands() < moment:
        said += _read(reader)
        time.sleep(0.002)
    time.sleep(delay)
    if how in ("HUP", "PIPE"):
        reader.close()
    process.send_signal(getattr(signal, f"SIG{how}"))
    end = time.monotonic() + lab.patience
    while process.poll() is None:
        said += _read(reader)
        if time.monotonic() > end:
            process.kill()
        time.sleep(0.01)
    return (said + _read(reader)).decode(errors="replace")


def _read(reader: Any) -> bytes:
    if reader.closed:
        return b""
    with contextlib.suppress(OSError):
        return reader.read(1 << 20) or b""
    return b""


def _said_wrong(lab: Any, how: str, code: int, said: str) -> list[str]:
    """What the process said and logged, against how it ended."""
    wanted = (0, *{"KILL": (-9,), "PIPE": ()}.get(how, (130,)))
    wrong = [] if code in wanted else [f"exit code {code}"]
    wrong += [f"said: {said[-800:]}"] if "Traceback" in said or "Exception ignored" in said else []
    last = json.loads(_end_of_log(lab)) if code == 130 and how == "HUP" else None
    wrong += [f"the log ends with {last}"] if last and last.get("exit_code") != code else []
    return wrong


def _end_of_log(lab: Any) -> str:
    """The last line of the newest run log."""
    logs = Path(lab.own["XDG_STATE_HOME"], "sparkops", "runs").glob("*.jsonl")
    return max(logs, key=lambda path: path.stat().st_mtime).read_text().splitlines()[-1]


def _lies(lab: Any) -> list[str]:
    """What `status` says against who answers before and after it; nothing if that changes meanwhile."""
    for _ in range(5):
        before = _state(lab)
        ran = lab.cli("status", "--json")
        if _state(lab) == before:
            break
    else:
        return []
    if ran.code not in (0, 5):
        return [f"status ended with {ran.code}: {ran.told[-600:]}"]
    addresses = {lab.address(name): name for name in lab.names}
    wrong = []
    for one in ran.document["deployments"]:
        fronts = {
            (addresses[url.hostname], url.port): end["healthy"]
            for end in one["endpoints"]
            if (url := urlsplit(end["url"]))
        }
        for front, healthy in fronts.items():
            if healthy != (front in before[1]):
                wrong.append(f"status calls {front} of a {one['state']} deployment {healthy}, {before}")
        if one["state"] == "serving" and not fronts.keys() & before[1]:
            wrong.append(f"status says serving, but {before}")
    if before[1] and not any(one["endpoints"] for one in ran.document["deployments"]):
        wrong.append(f"status shows no deployment, but {before}")
    return wrong
