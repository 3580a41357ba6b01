"""`sparkops model` over the embedded lab: one download, copies over the nodes' own SSH, damage found and mended."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import sparkops

pytest.importorskip("asyncssh", reason="the lab needs asyncssh (pip install 'sparkops[lab]')")
if not sys.platform.startswith("linux"):
    pytest.skip("the embedded lab needs Linux", allow_module_level=True)

ROOT = Path(sparkops.__file__).resolve().parents[1]
FIRST, MODEL, TOKEN = "1" * 40, "acme/tiny", "hf_of_a_person_who_accepted_it"
SHARD = "model-00002-of-00003.safetensors"
NODES = ("node1", "node2", "node3")


class Person:
    """Somebody with an empty home and a lab."""

    def __init__(self, base: Path) -> None:
        self.lab, self.home = base / "the lab", base / "home of a person"
        self.home.mkdir()
        self.endpoint = ""

    def start(self, *words: object, stdin: int = subprocess.DEVNULL, **env: str) -> subprocess.Popen[str]:
        kept = {
            k: v
            for k, v in os.environ.items()
            if not k.startswith(("SPARK", "XDG_", "HF_")) and "proxy" not in k.lower()
        }
        own = {"HOME": str(self.home), "SPARKOPS_LAB_DIR": str(self.lab), "PYTHONPATH": str(ROOT)}
        hub = {"HF_ENDPOINT": self.endpoint} if self.endpoint else {}
        line = [sys.executable, "-m", "sparkops", *map(str, words)]
        pipe = subprocess.PIPE
        return subprocess.Popen(line, env=kept | own | hub | env, stdin=stdin, stdout=pipe, stderr=pipe, text=True)

    def ended(self, process: subprocess.Popen[str], code: int, data: str | None = None) -> tuple[str, str]:
        out, err = process.communicate(data, timeout=240)
        assert process.returncode == code, f"exit {process.returncode} instead of {code}\n{out}{err}"
        return out, err

    def json(self, *words: object, code: int = 0, data: str | None = None, **env: str) -> dict[str, Any]:
        stdin = subprocess.DEVNULL if data is None else subprocess.PIPE
        found: dict[str, Any] = json.loads(
            self.ended(self.start("-i", "lab", *words, "--json", stdin=stdin, **env), code, data)[0]
        )
        return found

    def node(self, name: str) -> Path:
        return self.lab / "nodes" / name

    def folder(self, name: str, model: str = MODEL) -> Path:
        return self.node(name) / "home/.cache/huggingface/hub" / f"models--{model.replace('/', '--')}"

    def left(self) -> list[Path]:
        """What a run must not leave: keys, asks, streams."""
        states = [self.node(name) / "home/.local/state/sparkops" for name in NODES]
        found = [path for state in states for path in (*state.glob("models/*"), *state.glob("relay/*"))]
        keys = [self.node(name) / "home/.ssh/authorized_keys" for name in NODES]
        return found + [path for path in keys if "sparkops-copy" in path.read_text()]


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Person]:
    made = Person(tmp_path_factory.mktemp("models"))
    made.ended(made.start("lab", "up", "--nodes", 3, "--speed", 20), 0)
    yield made
    made.ended(made.start("lab", "down"), 0)


@pytest.fixture
def person(lab: Person, hub: Any) -> Iterator[Person]:
    lab.endpoint = hub.endpoint
    yield lab
    lab.endpoint = ""


def came(document: dict[str, Any]) -> dict[str, tuple[bool, bool]]:
    return {one["name"]: (one["fetched"] > 0, one["copied"] > 0) for one in document["nodes"]}


def test_a_model_is_downloaded_once_and_copied_to_the_others(person: Person, hub: Any) -> None:
    found = person.json("model", "fetch", MODEL)
    assert came(found) == {"node1": (True, False), "node2": (False, True), "node3": (False, True)}
    assert len(hub.asked) == 3
    for name in NODES:
        assert (person.folder(name) / "refs/main").read_text() == FIRST
    again = person.json("model", "fetch", MODEL)
    assert again["changed"] is False
    assert len(hub.asked) == 3
    assert person.left() == []


def test_damage_on_one_node_is_named_and_only_that_is_copied_again(person: Person, hub: Any) -> None:
    person.json("model", "fetch", MODEL)
    blob = (person.folder("node2") / "snapshots" / FIRST / SHARD).resolve()
    blob.write_bytes(b"\xff" + blob.read_bytes()[1:])
    found = person.json("model", "verify", MODEL, code=3)
    assert [(one["name"], [p["file"] for p in one["problems"]]) for one in found["nodes"]] == [
        ("node1", []), ("node2", [SHARD]), ("node3", []),
    ]  # fmt: skip
    assert f"model fetch {MODEL}`" in found["error"]["hint"]
    mended = person.json("model", "fetch", MODEL)
    assert [one["copied"] for one in mended["nodes"]] == [0, blob.stat().st_size, 0]
    assert person.json("model", "verify", MODEL)["ok"] is True


def test_a_refusal_that_comes_after_the_download_is_no_refusal_any_more(person: Person, hub: Any) -> None:
    hub.add("acme/late", FIRST, hub.models[MODEL]["main"][1])
    person.ended(person.start("lab", "fault", "node2", "disk-full"), 0)
    try:
        told = [person.json("model", "fetch", "acme/late", code=code)["error"] for code in (5, 3)]
    finally:
        person.ended(person.start("lab", "fault", "node2", "disk-full", "--off"), 0)
    assert [one["kind"] for one in told] == ["failed", "refused"], "the first one had changed node1"
    assert all("node2: the disk is too full" in one["message"] for one in told)


def test_a_gated_model_says_what_to_do_and_the_token_is_seen_nowhere(person: Person, hub: Any) -> None:
    hub.add("acme/gated", FIRST, hub.models[MODEL]["main"][1])
    hub.gated.add("acme/gated")
    refused = person.json("model", "fetch", "acme/gated", "--limit", "node1", code=5)
    assert "acme/gated is gated: its licence must be accepted" in refused["error"]["message"]
    assert f"accept it at {hub.endpoint}/acme/gated" in refused["error"]["hint"]
    person.json("model", "fetch", "acme/gated", "--token-stdin", "--limit", "node1", data=f"{TOKEN}\n")
    assert TOKEN in hub.tokens
    logs = [*person.lab.glob("nodes/*/ssh.jsonl"), *person.home.rglob("*.jsonl"), *person.lab.rglob("jobs/*/*")]
    assert logs
    assert not [path for path in logs if TOKEN in path.read_text(errors="replace")]
    assert person.left() == []


def test_an_interrupt_leaves_the_download_and_the_same_command_follows_it(person: Person, hub: Any) -> None:
    hub.add("acme/slow", FIRST, hub.models[MODEL]["main"][1])
    hub.held = True
    process = person.start("-i", "lab", "model", "fetch", "acme/slow")
    until = time.monotonic() + 60
    while not list(person.folder("node1", "acme/slow").glob("blobs/*.incomplete")):
        assert time.monotonic() < until
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, err = person.ended(process, 130)
    assert "fetch-acme--slow goes on by itself" in err
    assert "jobs cancel fetch-acme--slow" in err
    jobs = {job["id"]: job["state"] for job in person.json("jobs")["jobs"]}
    assert jobs["fetch-acme--slow"] == "running"
    again = person.start("-i", "lab", "model", "fetch", "acme/slow")
    assert again.stderr is not None
    assert any("runs already; this follows it" in line for line in again.stderr)
    hub.held = False
    person.ended(again, 0)
    assert len([blob for blob, start in hub.asked if start == 0]) == 3, "none was begun again"


def test_offline_asks_nobody_and_lists_what_is_missing(person: Person, hub: Any) -> None:
    found = person.json("model", "fetch", "acme/none", "--offline", "--limit", "node1", code=5)
    assert "not in the cache" in found["error"]["message"]
    assert hub.seen == []


def test_a_deploy_without_the_model_is_refused_and_with_setup_gets_it_first(lab: Person) -> None:
    for name in NODES[:2]:
        lab.ended(lab.start("lab", "fault", name, "no-model"), 0)
        shutil.rmtree(lab.node(name) / "home/.cache/tiktoken_rs")
    refused = lab.json("plan", "--topology", "2x-solo", "--limit", "node1,node2", code=3)
    assert "model fetch openai/gpt-oss-120b" in refused["error"]["hint"]
    assert "--setup" in refused["error"]["hint"]
    found = lab.json("deploy", "--topology", "2x-solo", "--limit", "node1,node2", "--setup")
    assert found["setup"] == [
        "fetched openai/gpt-oss-120b at b5c939de8f75 on node1",
        "copied openai/gpt-oss-120b to node2",
    ]
    words = [lab.node(name) / "home/.cache/tiktoken_rs" for name in NODES[:2]]
    assert [sorted(path.name for path in folder.iterdir()) for folder in words] == [
        ["9b5ad71b2ce5302211f9c61530b329a4922fc6a4", "cl100k_base.tiktoken",
         "fb374d419588a4632f3f557e76b4b70aebbca790", "o200k_base.tiktoken"],
    ] * 2  # fmt: skip
    assert lab.json("deploy", "--topology", "2x-solo", "--limit", "node1,node2", "--setup")["setup"] == []
    revision = lab.json("plan", "--topology", "2x-solo", "--limit", "node1,node2")
    assert revision["changed"] is False
    kept = lab.json("model", "prune", "openai/gpt-oss-120b", "--limit", "node1", "--yes")
    assert (kept["removed"], kept["kept"]) == (False, ["openai/gpt-oss-120b"])
    lab.json("stop")


def test_the_list_shows_every_node_s_models_as_json_and_as_text(person: Person, hub: Any) -> None:
    person.json("model", "fetch", MODEL)
    nodes = person.json("model", "list")["nodes"]
    assert [node["name"] for node in nodes] == list(NODES)
    assert all(MODEL in [model["model"] for model in node["models"]] for node in nodes)
    out, _ = person.ended(person.start("-i", "lab", "model", "list"), 0)
    assert f"{MODEL}" in out


def test_a_name_that_is_none_is_a_usage_error(lab: Person) -> None:
    for name in ("../x", "a/b/c", "a b", "acme/tiny@", "relative/../path"):
        assert "is no model" in lab.json("model", "fetch", name, code=2)["error"]["message"]
