"""Who logs in as another user than the one who deployed sees what serves and does not break it."""

from __future__ import annotations


def test_a_deploy_without_the_key_of_what_serves_is_refused_and_changes_nothing(shared):
    lab = shared
    lab.deploy("solo", "--limit", "node1")
    key = lab.node("node1", "home", ".local", "state", "sparkops", "key")
    elsewhere = key.rename(key.with_name("key in another home"))
    before = lab.running()
    error = lab.deploy("solo", "--limit", "node1", code=3)["error"]
    assert "API key from another home" in error["message"]
    assert lab.running() == before
    lab.json("stop")
    assert lab.deploy("solo", "--limit", "node1")["changed"]
    assert elsewhere.exists()
