"""`docker logs`: writes each line to the stream it came from; `--tail`, `--since`, `--until`, `-t` and `-f`."""

import json
import re
import sys
import time
from typing import Any

from sparklab.fake_docker.errors import daemon_says
from sparklab.fake_docker.store import Container, find, seconds
from sparklab.layout import Node

UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
POLL = 0.1


def logs(node: Node, options: dict[str, Any], names: list[str]) -> int:
    container, stamps = find(node, names[0]), "timestamps" in options
    since, until = _moment(options.get("since", "0")), _moment(options.get("until", "inf"))
    lines = [entry for entry in read(container) if since <= seconds(entry["time"]) <= until]
    tail = options.get("tail", "all")
    if tail != "all" and int(tail) >= 0:
        lines = lines[max(0, len(lines) - int(tail)) :]
    for entry in lines:
        _print(entry, stamps)
    if "follow" in options:
        follow(container, len(read(container)), stamps)
    return 0


def read(container: Container, skip: int = 0) -> list[dict[str, Any]]:
    try:
        with open(container.log, encoding="utf-8") as stream:
            lines = stream.read().split("\n")
    except FileNotFoundError:
        return []
    return [json.loads(line) for line in lines[skip:-1]]


def follow(container: Container, seen: int = 0, stamps: bool = False) -> None:
    """Print new lines until the container has ended and all its lines are printed."""
    while True:
        ended = not container.runs
        fresh = read(container, seen)
        for entry in fresh:
            _print(entry, stamps)
        seen += len(fresh)
        sys.stdout.flush()
        if ended and not fresh:
            return
        time.sleep(POLL)


def _print(entry: dict[str, Any], stamps: bool) -> None:
    stream = sys.stdout if entry["stream"] == "stdout" else sys.stderr
    (sys.stderr if stream is sys.stdout else sys.stdout).flush()
    stream.write((f"{entry['time']} " if stamps else "") + entry["log"])


def _moment(text: str) -> float:
    """Return epoch seconds of a timestamp, of epoch seconds, or of a duration before now (`10m`, `1h30m`)."""
    if re.fullmatch(r"\d+(\.\d+)?|inf", text):
        return float(text)
    if re.fullmatch(r"(\d+(\.\d+)?(ms|h|m|s))+", text):
        return time.time() - sum(float(n) * UNITS[unit] for n, _, unit in re.findall(r"(\d+(\.\d+)?)(ms|h|m|s)", text))
    try:
        return seconds(text)
    except ValueError:
        raise daemon_says(f'invalid value for "since": failed to parse value as time or duration: "{text}"') from None
