"""`preflight` over real SSH: healthy nodes pass, and --fix mends what it says. Its verdicts: test_faults_found.py."""

from pathlib import Path
from typing import Any


def held(document: Any, name: str) -> dict[str, str]:
    """What is held against a node."""
    node = next(node for node in document["nodes"] if node["name"] == name)
    return {check["id"]: check["status"] for check in node["checks"] if check["status"] in ("warn", "fail", "fixed")}


def test_healthy_nodes_pass_and_a_fix_shows_its_plan_and_mends_it_when_told_to(empty):
    lab = empty
    assert lab.json("preflight", "--deep")["verdict"] == "pass"
    assert lab.connections() == dict.fromkeys(lab.names, 1)
    measured = ["@bandwidth"] * 3  # whether its tool is there, then each of the two interfaces
    assert [one.shown.split()[0] for one in lab.received()] == ["@facts", "@peers", *measured] * len(lab.names)
    assert not lab.changed()
    assert lab.containers() == set(), "the container that was tried is gone"

    lingers = Path(lab.node("node1", "root", "var", "lib", "systemd", "linger", "spark"))
    vllm = Path(lab.node("node1", "home", ".cache", "vllm"))
    lab.fault("node1", "page-cache-full")
    lingers.unlink()
    vllm.rmdir()
    lab.mark()
    shown = lab.json("preflight", "--fix", code=3)
    assert [step["title"] for step in shown["plan"]] == [
        "make the cache directories",
        "drop the page cache",
        "record the change in the manifest",
        "enable lingering for spark",
    ]
    assert not lab.changed()
    mended = lab.json("preflight", "--fix", "--yes")
    assert held(mended, "node1") == {"page-cache": "fixed", "linger": "fixed", "caches-owned": "fixed"}
    assert mended["verdict"] == lab.json("preflight")["verdict"] == "pass"
    assert lingers.exists()
    assert vllm.exists()
    cleaned = lab.json("cleanup", "--yes")["nodes"][0]["entries"]
    assert ("linger", "spark") in {(one["kind"], one["what"]) for one in cleaned}
    assert not lingers.exists()
