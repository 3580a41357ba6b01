"""Playbooks over real vLLM and LiteLLM: a rolling restart behind an endpoint that somebody uses, and its check."""

from __future__ import annotations

import contextlib
import json
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

MODEL = "openai/gpt-oss-120b"
NODES = ("node1", "node2")
DRAINING = ("2x-solo", "--set", "args.shutdown-timeout=280")
RESTART = "rolling-restart.yml"


@pytest.fixture
def playbook(lab: Any, tmp_path: Path) -> Path:
    """The packaged one, copied and renamed as an operator would."""
    mine = tmp_path / "my playbooks" / RESTART
    mine.parent.mkdir()
    mine.write_text(lab.json("playbook", "show", "rolling-restart")["text"])
    return mine


def posted(url: str, key: str, tokens: int, *, stream: bool = False) -> Any:
    """An answer of the completions API; whoever reads it reads to its end."""
    body = {"model": MODEL, "prompt": "Hello", "max_tokens": tokens, "ignore_eos": True, "stream": stream}
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    return opener.open(urllib.request.Request(f"{url}/completions", json.dumps(body).encode(), headers), timeout=300)


class Client(threading.Thread):
    """One new request after another, none of them a stream, until told to end."""

    def __init__(self, url: str, key: str) -> None:
        super().__init__(daemon=True)
        self.url, self.key = url, key
        self.answers: Counter[str] = Counter()
        self.enough = threading.Event()

    def run(self) -> None:
        while not self.enough.is_set():
            try:
                with posted(self.url, self.key, 2) as answer:
                    self.answers["whole" if json.loads(answer.read())["choices"] else "empty"] += 1
            except urllib.error.HTTPError as error:
                self.answers[f"{error.code} {error.read()[:300]!r}"] += 1
            except OSError as error:
                self.answers[str(error)] += 1
            time.sleep(0.5)


class Streams(threading.Thread):
    """One long stream after the other from one server, until it takes no more: (begun, ended, last line) of each."""

    def __init__(self, url: str, key: str, tokens: int) -> None:
        super().__init__(daemon=True)
        self.url, self.key, self.tokens = url, key, tokens
        self.going = threading.Event()
        self.seen: list[tuple[float, float, str]] = []

    def run(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                self._one()

    def _one(self) -> None:
        begun, last = 0.0, ""
        try:
            with posted(self.url, self.key, self.tokens, stream=True) as answer:
                for line in answer:
                    begun, last = begun or time.time(), line.decode().strip() or last
                    self.going.set()
        finally:
            if begun:
                self.seen.append((begun, time.time(), last))


def started(lab: Any) -> dict[str, str]:
    """When each node's server was started last."""
    return {
        node: lab.on(node, "docker", "inspect", "--format", "{{.State.StartedAt}}", lab.one(node, "server"))
        for node in NODES
    }


def signalled(lab: Any, node: str, since: float) -> list[float]:
    """When the node's Docker asked its server to end, in seconds since 1970."""
    words = ("docker", "events", "--since", str(int(since)), "--until", str(int(time.time())))
    shape = ("--filter", "event=kill", "--filter", f"container={lab.one(node, 'server')}", "--format", "{{.TimeNano}}")
    return [int(line) / 1e9 for line in lab.on(node, *words, *shape).splitlines()]


def test_a_check_of_a_rolling_restart_changes_nothing_and_tells_what_the_run_decides(lab, playbook):
    lab.deploy(*DRAINING)
    before = lab.everywhere(running=False), started(lab)
    document = lab.json("play", playbook, "--check")
    assert (lab.everywhere(running=False), started(lab)) == before
    assert [(row["node"], row["ok"], row["changed"]) for row in document["recap"]] == [(node, 1, 1) for node in NODES]


def test_a_rolling_restart_loses_no_request_and_a_stream_ends_before_its_server(lab, playbook, eventually):
    (endpoint,) = lab.deploy(*DRAINING)["endpoints"]
    before, containers, since = started(lab), lab.everywhere(), time.time()
    client = Client(endpoint["url"], lab.key())
    streams = [Streams(f"http://{lab.address('node1')}:8000/v1", lab.key(), tokens) for tokens in (1700, 2500)]
    for thread in (client, *streams):
        thread.start()
    assert all(one.going.wait(300) for one in streams)
    document = lab.json("play", playbook)
    client.enough.set()
    for thread in (client, *streams):
        thread.join(300)
    seen = [stream for one in streams for stream in one.seen]
    assert [(row["node"], row["ok"], row["changed"]) for row in document["recap"]] == [(node, 1, 1) for node in NODES]
    assert lab.everywhere() == containers
    assert all(now != before[node] for node, now in started(lab).items())
    assert set(client.answers) == {"whole"}, client.answers
    assert {last for _, _, last in seen} == {"data: [DONE]"}
    asked = min(signalled(lab, "node1", since))
    assert any(begun < asked < ended for begun, ended, _ in seen), "one was on its way when its server was told"
    assert eventually(lab.serving)
