"""`model` and `deploy --setup` over simulated nodes: one download, copies down the chain, damage found and mended."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sparkops.testing import Crash
from sparkops.testing.hub import SIZES, TOKEN
from support.world import MODEL as GPT
from support.world import Lab

MODEL = "acme/tiny"
SHARD = "model-00001-of-00001.safetensors"
TWO = ("--topology", "2x-solo", "--limit", "node1,node2")
FULL = 2**30


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    """Three nodes that know each other's host keys."""
    made = Lab(tmp_path, nodes=3)
    made.cli("trust", "--yes", code=0)
    return made


def came(document: dict[str, Any]) -> dict[str, tuple[bool, bool]]:
    return {one["name"]: (one["fetched"] > 0, one["copied"] > 0) for one in document["nodes"]}


def left(lab: Lab) -> list[str]:
    """What a run must not leave: keys, asks, streams."""
    files = [(path, text) for name in lab.names for path, text in lab.node(name).files.items()]
    return [path for path, text in files if "sparkops-copy" in text or "/relay/" in path or "/models/" in path]


def test_a_model_is_downloaded_once_and_copied_to_the_others(lab: Lab) -> None:
    found = lab.json("model", "fetch", MODEL)
    assert came(found) == {"node1": (True, False), "node2": (False, True), "node3": (False, True)}
    assert lab.json("model", "fetch", MODEL)["changed"] is False
    assert lab.world.hub.downloads == [("node1", MODEL)]
    assert left(lab) == []
    nodes = lab.json("model", "list")["nodes"]
    assert [(node["name"], MODEL in [one["model"] for one in node["models"]]) for node in nodes] == [
        (name, True) for name in lab.names
    ]
    assert MODEL in lab.cli("model", "list", code=0).out


def test_damage_on_one_node_is_named_and_only_that_is_copied_again(lab: Lab) -> None:
    lab.json("model", "fetch", MODEL)
    lab.node("node2").damaged.add(f"{MODEL}/{SHARD}")
    found = lab.json("model", "verify", MODEL, code=3)
    assert [[p["file"] for p in one["problems"]] for one in found["nodes"]] == [[], [SHARD], []]
    assert f"model fetch {MODEL}`" in found["error"]["hint"]
    mended = lab.json("model", "fetch", MODEL)
    assert [one["copied"] for one in mended["nodes"]] == [0, SIZES[SHARD], 0]
    assert lab.json("model", "verify", MODEL)["ok"] is True


def test_a_refusal_that_comes_after_the_download_is_no_refusal_any_more(lab: Lab) -> None:
    lab.node("node2").free_kib = FULL // 1024
    told = [lab.json("model", "fetch", MODEL, code=code)["error"] for code in (5, 3)]
    assert [one["kind"] for one in told] == ["failed", "refused"], "the first one had changed node1"
    assert all("node2: the disk is too full" in one["message"] for one in told)


def test_a_disk_that_fills_up_in_the_middle_is_named_and_the_next_run_completes(lab: Lab) -> None:
    node3 = lab.node("node3")
    lab.world.later(620, lambda: setattr(node3, "free_kib", 0))
    told = lab.json("model", "fetch", MODEL, code=5)["error"]
    assert "node3" in told["message"]
    assert (MODEL in lab.node("node2").models, MODEL in node3.models) == (True, False)
    node3.free_kib = 100 * FULL
    assert came(lab.json("model", "fetch", MODEL)) == {
        "node1": (False, False), "node2": (False, False), "node3": (False, True),
    }  # fmt: skip


def test_a_copy_that_never_comes_through_is_given_up_with_where_to_look(lab: Lab) -> None:
    def kill() -> None:
        for name, job in lab.node("node2").jobs.items():
            if name.startswith("copy-"):
                job.end(137)
        lab.world.later(5, kill)

    lab.world.later(600, kill)
    told = lab.json("model", "fetch", MODEL, code=5)["error"]
    assert "copying it to node2, node3 got nowhere" in told["message"]
    assert "jobs logs copy-acme--tiny" in told["hint"]


def test_a_gated_model_says_what_to_do_and_the_token_is_seen_nowhere(lab: Lab) -> None:
    lab.world.hub.gated.add(MODEL)
    refused = lab.json("model", "fetch", MODEL, code=5)
    assert f"{MODEL} is gated: its licence must be accepted" in refused["error"]["message"]
    assert f"accept it at https://huggingface.co/{MODEL}" in refused["error"]["hint"]
    lab.mark()
    ran = lab.cli("model", "fetch", MODEL, code=0, HF_TOKEN=TOKEN)
    kept = [path.read_text() for path in lab.home.rglob("*") if path.is_file()]
    files = [text for name in lab.names for text in lab.node(name).files.values()]
    assert TOKEN not in "".join((ran.told, *kept, *files, *(one.shown for one in lab.received())))
    assert left(lab) == []


@pytest.mark.parametrize("killed", [False, True], ids=["interrupted", "killed"])
def test_an_interrupt_leaves_the_download_and_the_same_command_follows_it(lab: Lab, killed: bool) -> None:
    lab.world.hub.held = True
    lab.world.later(30, lab.world.crash if killed else lab.world.interrupt)
    if killed:
        with pytest.raises(Crash):
            lab.cli("model", "fetch", MODEL)
    else:
        err = lab.cli("model", "fetch", MODEL, code=130).err
        assert "fetch-acme--tiny goes on by itself" in err
        assert "jobs cancel fetch-acme--tiny" in err
    lab.anew()
    assert {job["id"]: job["state"] for job in lab.json("jobs")["jobs"]}["fetch-acme--tiny"] == "running"
    lab.world.later(30, lambda: setattr(lab.world.hub, "held", False))
    lab.mark()
    assert "runs already; this follows it" in lab.cli("model", "fetch", MODEL, code=0).err
    begun = [one.shown for one in lab.received() if one.shown.startswith("@job start fetch")]
    assert begun == [], "it may end meanwhile, and one that is begun anew would know neither token nor endpoint"
    assert lab.world.hub.downloads == [("node1", MODEL)]


def test_the_next_run_follows_the_copies_that_go_on(lab: Lab) -> None:
    lab.world.later(620, lab.world.crash)
    with pytest.raises(Crash):
        lab.cli("model", "fetch", MODEL)
    lab.anew()
    assert "goes on on node2, node3: following it" in lab.cli("model", "fetch", MODEL, code=0).err
    assert lab.json("model", "verify", MODEL)["ok"]
    assert left(lab) == []


def test_offline_asks_nobody_and_lists_what_is_missing(lab: Lab) -> None:
    found = lab.json("model", "fetch", "acme/none", "--offline", "--limit", "node1", code=5)
    assert "not in the cache" in found["error"]["message"]
    assert lab.world.hub.downloads == []


def test_a_deploy_without_the_model_is_refused_and_with_setup_gets_it_first(lab: Lab) -> None:
    for name in ("node1", "node2"):
        del lab.node(name).models[GPT]
    refused = lab.json("plan", *TWO, code=3)
    assert f"model fetch {GPT}" in refused["error"]["hint"]
    assert "--setup" in refused["error"]["hint"]
    found = lab.json("deploy", *TWO, "--setup")
    commit = lab.node("node1").models[GPT]
    assert found["setup"] == [f"fetched {GPT} at {commit[:12]} on node1", f"copied {GPT} to node2"]
    for name in ("node1", "node2"):
        folder = f"{lab.node(name).home}/.cache/tiktoken_rs/"
        assert len([path for path in lab.node(name).files if path.startswith(folder)]) == 2
    assert lab.json("deploy", *TWO, "--setup")["setup"] == []
    assert lab.json("plan", *TWO)["changed"] is False
    kept = lab.json("model", "prune", GPT, "--limit", "node1", "--yes")
    assert (kept["removed"], kept["kept"]) == (False, [GPT])


def test_a_name_that_is_none_is_a_usage_error(lab: Lab) -> None:
    lab.mark()
    for name in ("../x", "a/b/c", "a b", "acme/tiny@", "relative/../path"):
        assert "is no model" in lab.json("model", "fetch", name, code=2)["error"]["message"]
    assert lab.received() == []
