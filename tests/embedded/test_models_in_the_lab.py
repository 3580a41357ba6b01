"""Models where processes show it: streams over SSH, jobs that outlive their client, kills in the middle."""

import contextlib
import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sparkops.remote.frame import script_text
from support.models import FIRST, MODEL, SHARDS, TOKEN, Home, small_disk
from support.processes import living

NODES = ("node1", "node2", "node3")
Until = Callable[[Callable[[], object]], bool]


@pytest.fixture(scope="module")
def shared(lab_with: Any) -> Any:
    return lab_with(nodes=3)


@pytest.fixture
def asks(hub: Any) -> dict[str, str]:
    """What the tool is told of the hub, whatever proxies this machine has."""
    return {"HF_ENDPOINT": hub.endpoint} | {name: "" for name in os.environ if "proxy" in name.lower()}


def folder(lab: Any, name: str, model: str = MODEL) -> Path:
    return Path(lab.node(name, "home/.cache/huggingface/hub", f"models--{model.replace('/', '--')}"))


def left(lab: Any) -> list[Path]:
    """What a run must not leave: keys, asks, streams."""
    states = [lab.node(name, "home/.local/state/sparkops") for name in NODES]
    found = [path for state in states for path in (*state.glob("models/*"), *state.glob("relay/*"))]
    keys = [lab.node(name, "home/.ssh/authorized_keys") for name in NODES]
    return found + [path for path in keys if "sparkops-copy" in path.read_text()]


def test_a_model_is_downloaded_once_copied_to_the_others_and_mended_where_it_is_damaged(
    lab: Any, hub: Any, asks: dict[str, str]
) -> None:
    found = lab.json("model", "fetch", MODEL, **asks)["nodes"]
    assert [(one["fetched"] > 0, one["copied"] > 0) for one in found] == [(True, False), (False, True), (False, True)]
    assert [(folder(lab, name) / "refs/main").read_text() for name in NODES] == [FIRST] * 3
    blob = (folder(lab, "node2") / "snapshots" / FIRST / SHARDS[1]).resolve()
    blob.write_bytes(b"\xff" + blob.read_bytes()[1:])
    found = lab.json("model", "verify", MODEL, code=3, **asks)["nodes"]
    assert [[problem["file"] for problem in one["problems"]] for one in found] == [[], [SHARDS[1]], []]
    mended = lab.json("model", "fetch", MODEL, **asks)
    assert [one["copied"] for one in mended["nodes"]] == [0, blob.stat().st_size, 0]
    assert lab.json("model", "verify", MODEL, **asks)["ok"] is True
    assert (len(hub.asked), left(lab)) == (3, [])


def test_a_torn_model_is_listed_as_such_and_fetched_anew_from_another_node(lab: Any, asks: dict[str, str]) -> None:
    big = "openai/gpt-oss-120b"
    with lab.trouble("node2", "model-torn"):
        nodes = lab.json("model", "list")["nodes"]
        about = [next(one for one in node["models"] if one["model"] == big)["revisions"][0] for node in nodes]
        assert [len(one["missing"]) for one in about] == [0, 1, 0]
        found = lab.json("model", "fetch", big, "--offline", **asks)
        assert [one["copied"] > 0 for one in found["nodes"]] == [False, True, False]
        assert lab.json("model", "verify", big, **asks)["ok"] is True


def test_a_full_disk_has_room_again_when_a_model_that_nothing_needs_is_removed(lab: Any) -> None:
    with lab.trouble("node3", "disk-full"):
        unneeded = lab.json("model", "prune", "--limit", "node3")["unneeded"]
        assert unneeded
        assert "disk-full" in lab.json("lab", "status")["nodes"][2]["faults"]
        lab.json("model", "prune", unneeded[0]["model"], "--limit", "node3", "--yes")
        lab.json("model", "list", "--limit", "node3")
        assert not lab.json("lab", "status")["nodes"][2]["faults"]


def test_a_gated_model_says_what_to_do_and_the_token_is_seen_nowhere(lab: Any, hub: Any, asks: dict[str, str]) -> None:
    hub.add("acme/gated", FIRST, hub.models[MODEL]["main"][1])
    hub.gated.add("acme/gated")
    words = ("model", "fetch", "acme/gated", "--limit", "node1")
    refused = lab.json(*words, code=5, **asks)["error"]
    assert "acme/gated is gated: you must accept its licence" in refused["message"]
    assert f"accept the licence at {hub.endpoint}/acme/gated" in refused["hint"]
    line, environment = lab.line(*words, "--token-stdin"), lab.environment(**asks)
    subprocess.run(line, env=environment, cwd=lab.work, input=f"{TOKEN}\n", text=True, capture_output=True, check=True)
    assert TOKEN in hub.tokens
    logs = [*lab.directory.glob("nodes/*/ssh.jsonl"), *lab.home.rglob("*.jsonl"), *lab.directory.rglob("jobs/*/*")]
    assert logs
    assert not [path for path in logs if TOKEN in path.read_text(errors="replace")]
    assert left(lab) == []


def test_a_deploy_with_setup_gets_the_model_and_its_vocabulary_first(lab: Any) -> None:
    for name in NODES[:2]:
        lab.fault(name, "no-model")
        shutil.rmtree(lab.node(name, "home/.cache/tiktoken_rs"))
    two = ("--topology", "2x-solo", "--limit", "node1,node2")
    found = lab.json("deploy", *two, "--setup")
    assert found["setup"] == [
        "fetched openai/gpt-oss-120b, revision b5c939de8f75, on node1", "copied openai/gpt-oss-120b to node2",
    ]  # fmt: skip
    words = [lab.node(name, "home/.cache/tiktoken_rs") for name in NODES[:2]]
    assert [sorted(path.name for path in folder.iterdir()) for folder in words] == [
        ["9b5ad71b2ce5302211f9c61530b329a4922fc6a4", "cl100k_base.tiktoken",
         "fb374d419588a4632f3f557e76b4b70aebbca790", "o200k_base.tiktoken"],
    ] * 2  # fmt: skip
    lab.json("stop")


def test_a_killed_fetch_shows_no_snapshot_no_token_and_goes_on_where_it_was(home: Home, until: Until) -> None:
    ask = home.path / "ask.json"
    ask.write_text(json.dumps({"token": TOKEN}))
    ask.chmod(0o600)
    home.hub.held = True
    process = home.begin("fetch", MODEL, "--ask", str(ask))
    halves = home.folder / "blobs"
    assert until(lambda: sum(path.stat().st_size for path in halves.glob("*.incomplete")) >= 500_000), "all three"
    seen = list(lines(process.pid))
    home.kill(process)
    assert any("curl" in line for line in seen)
    assert not any(TOKEN in line for line in seen)
    assert TOKEN in home.hub.tokens
    assert not home.snapshot().exists()
    there = sum(path.stat().st_size for path in halves.glob("*"))
    assert home.result("verify", MODEL)["half"]
    home.hub.held = False
    home.hub.asked.clear()
    home.result("fetch", MODEL)
    shards = {path.resolve().name: path.stat().st_size for path in home.snapshot().glob("*.safetensors")}
    assert sum(shards[blob] - start for blob, start in home.hub.asked) <= sum(shards.values()) - there + 2000
    found = home.result("verify", MODEL)
    assert (found["problems"], found["half"]) == ([], [])


def lines(group: int) -> Iterator[str]:
    """Of the processes of this group that have not ended."""
    for one in living():
        with contextlib.suppress(OSError):
            if os.getpgid(one.pid) == group:
                yield one.line


def test_a_download_gives_back_what_it_took_of_a_disk_that_fills_up(hub: Any, tmp_path: Path, until: Until) -> None:
    with small_disk(hub, tmp_path / "a small disk", "8m") as small:
        fill_up_in_the_middle(small, until)


def fill_up_in_the_middle(small: Home, until: Until) -> None:
    def halves() -> list[Path]:
        return [*small.folder.glob("blobs/*.incomplete"), *small.folder.glob("incoming*")]

    small.hub.held = True
    process = small.begin("fetch", MODEL)
    assert until(halves)
    other = small.path / "somebody else's"
    with contextlib.suppress(OSError), other.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))
    small.hub.held = False
    out, _ = process.communicate(timeout=240)
    assert process.returncode == 1
    assert "error: the disk became full during the download, and partial downloads were removed: need " in out
    assert halves() == []
    other.unlink()
    assert small.result("fetch", MODEL)["fetched"] > 0
    assert small.result("verify", MODEL)["problems"] == []


def test_a_taker_that_goes_away_in_the_middle_ends_the_sender_without_a_traceback(home: Home) -> None:
    home.result("fetch", MODEL)
    line = ["sh", "-c", script_text("model"), "model", "send", MODEL]
    environment = {"HOME": str(home.path), "PATH": os.environ["PATH"]}
    with subprocess.Popen(line, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as sender:
        assert sender.stdout is not None
        assert sender.stderr is not None
        os.read(sender.stdout.fileno(), 1)
        sender.stdout.close()
        assert sender.wait(120) != 0
        assert b"Traceback" not in sender.stderr.read()


def test_a_draft_model_is_fetched_copied_and_used_without_the_hub(lab: Any, hub: Any, asks: dict[str, str]) -> None:
    config = json.dumps({"method": "eagle3", "model": MODEL, "num_speculative_tokens": 3})
    words = ("--topology", "2x-solo", "--limit", "node1,node2", "--set", f"args.speculative-config={config}")
    for name in NODES:
        shutil.rmtree(folder(lab, name), ignore_errors=True)
    refused = lab.json("deploy", *words, code=3)["error"]
    assert f"node1, node2: the draft model {MODEL} is not in the cache" in refused["message"]
    assert f"model fetch {MODEL}\n" in refused["hint"]
    failed = lab.json("deploy", *words, "--allow", "model-present", code=5)
    assert "couldn't find them in the cached files" in json.dumps(failed), "as the engine says without HF_HUB_OFFLINE"

    found = lab.json("deploy", *words, "--setup", **asks)
    assert found["setup"] == [f"fetched {MODEL}, revision {FIRST[:12]}, on node1", f"copied {MODEL} to node2"]
    assert lab.json("deploy", *words)["changed"] is False
    lab.json("stop")
    asked = len(hub.seen)
    lab.json("deploy", *words, HF_ENDPOINT="http://127.0.0.1:9")
    engines = [(node, name) for node, name in lab.running() if "-server-" in name]
    shown = [lab.on(node, "docker", "inspect", "--format", "{{json .Config.Env}}", name) for node, name in engines]
    assert [json.loads(one).count("HF_HUB_OFFLINE=1") for one in shown] == [1, 1]
    assert len(hub.seen) == asked
    assert lab.json("model", "prune", MODEL, "--yes", code=3)["kept"] == [MODEL]
    lab.json("stop")
