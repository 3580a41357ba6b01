"""The main job from the first deploy to the last stop, and what the nodes say about it."""

from __future__ import annotations

from support.world import Lab

GPT = "openai-gpt-oss-120b"


def test_a_cluster_serves_is_left_alone_and_is_stopped(lab: Lab) -> None:
    deployed = lab.deploy("cluster")
    assert (deployed["ok"], deployed["changed"], deployed["exit_code"]) == (True, True, 0)
    assert lab.state() == {GPT: "serving"}
    assert lab.key()
    again = lab.deploy("cluster")
    assert again["changed"] is False
    lab.json("stop")
    assert lab.containers() == set()
