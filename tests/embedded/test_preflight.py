"""`preflight` over real SSH: healthy nodes pass, each fault is named where it is, and --fix mends what it says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

FAULTS = [
    ("page-cache-full", "page-cache", "warn", 0),
    ("cx7-down", "cx7-usable", "fail", 3),
    ("no-docker-group", "docker-usable", "fail", 3),
    ("sudo-password", "drop-permitted", "warn", 0),
    ("no-image", "image-present", "fail", 3),
    ("no-model", "model-present", "fail", 3),
    ("bad-host-key", "host-key", "fail", 4),
    ("unreachable", "ssh", "fail", 4),
]


def held(document: Any, name: str) -> dict[str, str]:
    """What is held against a node."""
    node = next(node for node in document["nodes"] if node["name"] == name)
    return {check["id"]: check["status"] for check in node["checks"] if check["status"] in ("warn", "fail", "fixed")}


def test_healthy_nodes_pass_by_two_commands_over_one_connection_each(empty):
    lab = empty
    lab.mark()
    document = lab.json("preflight", "--deep")
    assert document["verdict"] == "pass"
    assert lab.connections() == dict.fromkeys(lab.names, 1)
    assert [one.shown.split()[0] for one in lab.received()] == ["@facts", "@peers"] * len(lab.names)
    assert not lab.changed()
    assert lab.containers() == set(), "the container that was tried is gone"


@pytest.mark.parametrize(("fault", "check", "status", "code"), FAULTS)
def test_a_fault_is_named_on_its_node_and_nowhere_else(empty, fault, check, status, code):
    lab = empty
    with lab.trouble("node2", fault):
        document = lab.json("preflight", code=code)
    assert held(document, "node2") == {check: status}
    assert held(document, "node1") == {}


@pytest.mark.parametrize("topology", ["solo", "2x-solo", "cluster"])
def test_it_passes_while_a_model_serves(empty, topology):
    lab = empty
    lab.deploy("2x-solo")
    document = lab.json("preflight", "--topology", topology)
    assert document["verdict"] == "pass"


def test_a_fix_shows_its_plan_and_mends_it_when_told_to(empty):
    lab = empty
    lingers = Path(lab.node("node1", "root", "var", "lib", "systemd", "linger", "spark"))
    lab.fault("node1", "page-cache-full")
    lingers.unlink()
    vllm = Path(lab.node("node1", "home", ".cache", "vllm"))
    vllm.rmdir()
    lab.mark()
    shown = lab.json("preflight", "--fix", code=3)
    assert [step["title"] for step in shown["plan"]] == [
        "make the cache directories",
        "drop the page cache",
        "note it in the manifest",
        "let spark linger",
    ]
    assert not lab.changed()
    mended = lab.json("preflight", "--fix", "--yes")
    assert held(mended, "node1") == {"page-cache": "fixed", "linger": "fixed", "caches-owned": "fixed"}
    assert mended["verdict"] == "pass"
    assert lingers.exists()
    assert lab.json("preflight")["verdict"] == "pass"
    lab.fault("node1", "page-cache-full", off=True)
    assert ("linger", "spark") in {
        (one["kind"], one["what"]) for one in lab.json("cleanup", "--yes")["nodes"][0]["entries"]
    }
    assert not lingers.exists()
    lingers.touch()
    vllm.mkdir(exist_ok=True)


def test_a_raw_capture_is_a_fixture_and_facts_are_a_document(empty):
    lab = empty
    raw = lab.cli("facts", "node1", "--raw", code=0).out
    assert raw.startswith("sparkops-facts 1\n")
    assert "\n== end 0 " in raw
    lab.mark()
    (node,) = lab.json("facts", "node1")["nodes"]
    assert node["uname"]["machine"] == "aarch64"
    assert lab.connections() == {"node1": 1, "node2": 0}
    unknown = lab.json("facts", "node3", code=2)["error"]["message"]
    assert unknown == "no node node3 in the inventory (did you mean node2?)"
