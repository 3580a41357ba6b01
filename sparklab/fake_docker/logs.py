"""`docker logs`: both streams to where they came from, with `--tail`, `--since`, `-t` and `-f`."""

import json
import re
import sys
import time
from typing import Any

from sparklab.fake_docker.errors import DockerError, daemon_says
from sparklab.fake_docker.store import Container, find, seconds
from sparklab.layout import Node

UNITS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
POLL = 0.1


def main(node: Node, words: list[str]) -> int:
    tail, since, until, flags, names = "all", "", "", set(), []
    rest = list(words)
    while rest:
        word, equals, value = rest.pop(0).partition("=")
        if word in ("--tail", "-n", "--since", "--until"):
            value = value if equals else rest.pop(0)
            tail = value if word in ("--tail", "-n") else tail
            since = value if word == "--since" else since
            until = value if word == "--until" else until
        elif word.startswith("--"):
            flags.add({"--follow": "f", "--timestamps": "t", "--details": ""}.get(word, word))
        elif word.startswith("-"):
            flags |= set(word[1:])
        else:
            names.append(word)
    if len(names) != 1:
        raise DockerError("docker: 'docker logs' requires 1 argument\n\nUsage:  docker logs [OPTIONS] CONTAINER")
    container = find(node, names[0])
    lines = [entry for entry in read(container) if _between(entry, since, until)]
    if tail != "all" and int(tail) >= 0:
        lines = lines[len(lines) - min(int(tail), len(lines)) :]
    for entry in lines:
        _print(entry, "t" in flags)
    if "f" in flags:
        follow(container, len(read(container)), "t" in flags)
    return 0


def read(container: Container, skip: int = 0) -> list[dict[str, Any]]:
    try:
        with open(container.log, encoding="utf-8") as stream:
            lines = stream.read().split("\n")
    except FileNotFoundError:
        return []
    return [json.loads(line) for line in lines[skip:-1]]


def follow(container: Container, seen: int = 0, stamps: bool = False) -> None:
    """Until the container has ended and all is shown."""
    while True:
        ended = container.state()["status"] not in ("running", "restarting")
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


def _between(entry: dict[str, Any], since: str, until: str) -> bool:
    if not since and not until:
        return True
    moment = seconds(entry["time"])
    return (not since or moment >= _moment(since)) and (not until or moment <= _moment(until))


def _moment(text: str) -> float:
    """A time stamp, epoch seconds, or how long ago (`10m`, `1h30m`)."""
    if re.fullmatch(r"\d+(\.\d+)?", text):
        return float(text)
    if re.fullmatch(r"(\d+(\.\d+)?(ms|h|m|s))+", text):
        return time.time() - sum(float(n) * UNITS[unit] for n, _, unit in re.findall(r"(\d+(\.\d+)?)(ms|h|m|s)", text))
    try:
        offset = re.search(r"([+-])(\d\d):(\d\d)$", text)
        shift = 0.0
        if offset:
            shift = (int(offset[2]) * 3600 + int(offset[3]) * 60) * (1 if offset[1] == "+" else -1)
            text = text[: offset.start()]
        return seconds(text if "T" in text else f"{text}T00:00:00") - shift
    except ValueError:
        raise daemon_says(f'invalid value for "since": failed to parse value as time or duration: "{text}"') from None
