"""The main job from the first deploy to the last stop, and what the nodes say about it."""

from __future__ import annotations

from support.world import Lab

GPT = "openai-gpt-oss-120b"
QWEN = "qwen3-next-80b-a3b-instruct-fp8"


def roles(lab: Lab) -> list[tuple[str, str]]:
    """(node, role) of containers named `sparkops-DEPLOYMENT-ROLE-HASH` that run."""
    return sorted((node, name.rsplit("-", 2)[1]) for node, name in lab.running())


def test_a_cluster_serves_is_left_alone_and_is_stopped(lab: Lab) -> None:
    deployed = lab.deploy("cluster")
    assert (deployed["ok"], deployed["changed"], deployed["exit_code"]) == (True, True, 0)
    (endpoint,) = deployed["endpoints"]
    assert roles(lab) == [("node1", "head"), ("node2", "worker")]
    ray, endpoints = {"nodes": 2, "gpus": 2}, [{**endpoint, "healthy": True}]
    told = {"state": "serving", "topology": "cluster", "ray": ray, "endpoints": endpoints}
    assert [{key: one[key] for key in told} for one in lab.shown()] == [told]

    lab.mark()
    again = lab.deploy("cluster")
    assert (again["changed"], again["changes"], again["hash"]) == (False, [], deployed["hash"])
    assert lab.changed() == []

    removed = {(one["node"], one["container"].rsplit("-", 2)[1]) for one in lab.json("stop")["removed"]}
    assert removed == {("node1", "head"), ("node2", "worker")}
    assert lab.containers() == set()
    assert lab.json("stop")["removed"] == []
    assert lab.json("status")["deployments"] == []


def test_two_solo_servers_are_one_endpoint_that_outlives_one_of_them(lab: Lab) -> None:
    lab.deploy("cluster")
    switched = lab.deploy("2x-solo")
    (endpoint,) = switched["endpoints"]
    assert endpoint["url"].endswith(":4000/v1")
    assert any(line.startswith("topology cluster -> ") for line in switched["changes"])
    assert roles(lab) == [("node1", "proxy"), ("node1", "server"), ("node2", "server")]
    for node in lab.names:
        lab.fault(node, "engine-killed")
        assert not lab.serves(node)
        assert lab.serves("node1", 4000), node
        assert lab.until(lambda node=node: lab.serves(node)), "the killed server did not come back"  # type: ignore[misc]
    (shown,) = lab.shown()
    assert [node["restarts"] for node in shown["nodes"] if node["role"] == "server"] == [1, 1]


def test_another_model_is_a_switch_and_rollback_goes_back(lab: Lab) -> None:
    lab.deploy("2x-solo")
    before = lab.running()
    switch = lab.json("plan", "--topology", "cluster", "--recipe", QWEN)
    assert GPT in switch["replaces"]
    assert any("stop" in step["title"] and step["node"] == "node2" for step in switch["steps"])
    assert any("replaces" in line for line in switch["changes"])

    deployed = lab.deploy("cluster", "--recipe", QWEN)
    assert deployed["endpoints"][0]["model"].startswith("Qwen/")
    assert lab.state() == {QWEN: "serving", GPT: "stopped"}
    assert not lab.running() & before
    assert before <= lab.containers()

    back = lab.json("rollback")
    assert (back["deployment"], back["topology"]) == (GPT, "2x-solo")
    assert lab.running() == before
    assert lab.state() == {GPT: "serving", QWEN: "stopped"}

    assert lab.json("rollback")["deployment"] == QWEN
    lab.json("stop")
    assert lab.running() == set()
    assert before <= lab.containers(), "what was kept for rollback is not removed by stop"


def test_a_cluster_without_ray_serves(lab: Lab) -> None:
    lab.deploy("cluster", "--executor", "mp")
    (shown,) = lab.shown()
    assert (shown["state"], shown["ray"]) == ("serving", None)
    assert [node["role"] for node in shown["nodes"]] == ["head", "worker"]
    lab.mark()
    assert lab.deploy("cluster", "--executor", "mp")["changed"] is False
    assert lab.changed() == []


def test_one_recipe_on_each_of_two_nodes_is_two_deployments_by_limit(lab: Lab) -> None:
    for node in lab.names:
        lab.deploy("solo", "--limit", node)
    assert [(one["state"], one["nodes"][0]["name"]) for one in lab.shown()] == [
        ("serving", "node1"),
        ("serving", "node2"),
    ]
    assert "--limit" in lab.cli("key", code=2).err
    assert lab.cli("key", "--limit", "node2", code=0).out.strip()
    lab.json("stop", "--limit", "node1")
    assert {node for node, _ in lab.running()} == {"node2"}


def test_what_was_stopped_by_hand_is_started_by_the_next_deploy(lab: Lab) -> None:
    lab.deploy("2x-solo")
    before = lab.running()
    _, name = next(one for one in before if one[0] == "node2")
    lab.on("node2", "docker", "stop", name)
    assert lab.state() == {GPT: "degraded"}
    lab.cli("status", code=5)
    assert lab.deploy("2x-solo")["changed"]
    assert lab.running() == before
    assert lab.state() == {GPT: "serving"}


def test_a_proxy_on_every_node_is_an_endpoint_on_every_node(lab: Lab) -> None:
    deployed = lab.deploy("2x-solo", "--proxy", "all")
    assert [one["node"] for one in deployed["endpoints"]] == lab.names
    assert all(lab.serves(node, 4000) for node in lab.names)
    assert [one["healthy"] for one in lab.shown()[0]["endpoints"]] == [True, True]


def test_one_previous_revision_is_kept_and_a_changed_flag_is_shown(lab: Lab) -> None:
    hashes = []
    for tokens in (2048, 8192, 16384):
        deployed = lab.deploy("solo", "--set", f"args.max-model-len={tokens}")
        hashes.append(deployed["hash"][:8])
        assert len(lab.running()) == 1
    assert [line for line in deployed["changes"] if "max-model-len" in line and line.endswith("8192 -> 16384")]
    assert {name.rsplit("-", 1)[1] for _, name in lab.containers()} == set(hashes[1:])
    flag = lab.deploy("solo", "--", "--max-num-seqs", "7")
    assert [line for line in flag["changes"] if "max-num-seqs" in line and line.endswith("-> 7")]
    assert len(lab.running()) == 1


def test_strangers_containers_are_never_touched(lab: Lab) -> None:
    lab.stranger("node1", "stranger")
    lab.deploy("solo")
    lab.json("stop")
    assert lab.running() == {("node1", "stranger")}


def test_nothing_deployed_is_said_and_nothing_is_broken_by_it(lab: Lab) -> None:
    assert lab.json("status")["deployments"] == []
    assert lab.json("stop")["removed"] == []
    for words in (("rollback",), ("key",), ("key", "rotate"), ("logs",), ("endpoint", "--for", "openai")):
        error = lab.json(*words, code=3)["error"]
        assert error["kind"] == "refused"
        assert error["hint"]
