"""The main job from the first deploy to the last stop, and what the nodes say about it."""

from __future__ import annotations

from functools import partial

GPT = "openai-gpt-oss-120b"
QWEN = "qwen3-next-80b-a3b-instruct-fp8"


def roles(running):
    """(node, role) of containers named `sparkops-DEPLOYMENT-ROLE-HASH`."""
    return sorted((node, name.rsplit("-", 2)[1]) for node, name in running)


def test_a_cluster_serves_is_left_alone_and_is_stopped(empty, until):
    lab = empty
    deployed = lab.deploy("cluster")
    assert (deployed["ok"], deployed["changed"], deployed["exit_code"]) == (True, True, 0)
    (endpoint,) = deployed["endpoints"]
    key = lab.key()
    code, answer = lab.ask(endpoint["url"], key, endpoint["model"])
    assert (code, answer["usage"]["completion_tokens"] > 0) == (200, True)
    assert lab.ask(endpoint["url"], "sk-wrong")[0] == 401
    assert roles(lab.running()) == [("node1", "head"), ("node2", "worker")]

    ray, endpoints = {"nodes": 2, "gpus": 2}, [{**endpoint, "healthy": True}]
    told = {"state": "serving", "topology": "cluster", "ray": ray, "endpoints": endpoints}
    assert until(lambda: [{key: one[key] for key in told} for one in lab.shown()] == [told])

    lab.mark()
    again = lab.deploy("cluster")
    assert (again["changed"], again["changes"], again["hash"]) == (False, [], deployed["hash"])
    assert lab.changed() == []

    stopped = lab.json("stop")
    assert {(one["node"], one["container"].rsplit("-", 2)[1]) for one in stopped["removed"]} == {
        ("node1", "head"),
        ("node2", "worker"),
    }
    assert lab.containers() == set()
    assert until(lambda: not lab.processes(outside=True)), "no job outlives the deployment that it was for"
    assert lab.json("stop")["removed"] == []
    assert lab.json("status")["deployments"] == []


def test_two_solo_servers_are_one_endpoint_that_outlives_one_of_them(lab, until):
    lab.deploy("cluster")
    switched = lab.deploy("2x-solo", "--set", "env.SPARKOPS_BACKOFF=1")
    (endpoint,) = switched["endpoints"]
    assert endpoint["url"].endswith(":4000/v1")
    assert any(line.startswith("topology cluster -> ") for line in switched["changes"])
    assert roles(lab.running()) == [("node1", "proxy"), ("node1", "server"), ("node2", "server")]
    key = lab.key()
    assert lab.ask(endpoint["url"], "sk-wrong")[0] == 401

    for node in lab.names:
        assert until(partial(_all_are_asked, lab, endpoint["url"], key)), "the proxy forgot a server that came back"
        lab.fault(node, "engine-killed")
        assert {lab.ask(endpoint["url"], key)[0] for _ in range(8)} == {200}, node
        assert until(partial(lab.serves, node)), "the killed server did not come back"
    (shown,) = lab.shown()
    assert sorted(node["restarts"] for node in shown["nodes"] if node["role"] == "server") == [1, 1]


def _all_are_asked(lab, url, key):
    """Whether a few requests to the endpoint reach the server of every node."""
    servers = sorted((node, name) for node, name in lab.running() if "-server-" in name)

    def counts():
        return [lab.on(node, "docker", "logs", name).count("POST /v1/completions") for node, name in servers]

    before = counts()
    for _ in range(6):
        lab.ask(url, key)
    return all(now > then for now, then in zip(counts(), before, strict=True))


def test_another_model_is_a_switch_and_rollback_goes_back(lab, until):
    lab.deploy("2x-solo")
    before = lab.running()
    switch = lab.json("plan", "--topology", "cluster", "--recipe", QWEN)
    assert GPT in switch["replaces"]
    assert any("stop" in step["title"] and step["node"] == "node2" for step in switch["steps"])
    assert any("replaces" in line for line in switch["changes"])

    deployed = lab.deploy("cluster", "--recipe", QWEN)
    assert lab.ask(deployed["endpoints"][0]["url"], lab.key(), deployed["endpoints"][0]["model"])[0] == 200
    assert until(lambda: lab.state() == {QWEN: "serving", GPT: "stopped"})
    assert not lab.running() & before
    assert before <= lab.containers()

    back = lab.json("rollback")
    assert (back["deployment"], back["topology"]) == (GPT, "2x-solo")
    assert lab.running() == before
    assert lab.ask(back["endpoints"][0]["url"], lab.key())[0] == 200

    assert lab.json("rollback")["deployment"] == QWEN
    lab.json("stop")
    assert lab.running() == set()
    assert before <= lab.containers(), "what was kept for rollback is not removed by stop"


def test_a_cluster_without_ray_serves(empty, until):
    lab = empty
    deployed = lab.deploy("cluster", "--executor", "mp")
    assert lab.ask(deployed["endpoints"][0]["url"], lab.key())[0] == 200
    assert until(lambda: [(one["state"], one["ray"]) for one in lab.shown()] == [("serving", None)])
    (shown,) = lab.shown()
    assert [node["role"] for node in shown["nodes"]] == ["head", "worker"]
    lab.mark()
    assert lab.deploy("cluster", "--executor", "mp")["changed"] is False
    assert lab.changed() == []


def test_one_recipe_on_each_of_two_nodes_is_two_deployments_by_limit(empty, until):
    lab = empty
    for node in lab.names:
        lab.deploy("solo", "--limit", node)
    both = [("serving", "node1"), ("serving", "node2")]
    assert until(lambda: [(one["state"], one["nodes"][0]["name"]) for one in lab.shown()] == both)
    assert "--limit" in lab.cli("key", code=2).err
    assert lab.cli("key", "--limit", "node2", code=0).out.strip()
    lab.json("stop", "--limit", "node1")
    assert {node for node, _ in lab.running()} == {"node2"}


def test_what_was_stopped_by_hand_is_started_by_the_next_deploy(empty, until):
    lab = empty
    lab.deploy("2x-solo")
    before = lab.running()
    _, name = next(one for one in before if one[0] == "node2")
    lab.on("node2", "docker", "stop", name)
    assert until(lambda: lab.state() == {GPT: "degraded"})
    lab.cli("status", code=5)
    assert lab.deploy("2x-solo")["changed"]
    assert lab.running() == before
    assert until(lambda: lab.state() == {GPT: "serving"})


def test_a_proxy_on_every_node_is_an_endpoint_on_every_node(empty):
    lab = empty
    deployed = lab.deploy("2x-solo", "--proxy", "all")
    assert [one["node"] for one in deployed["endpoints"]] == lab.names
    assert {lab.ask(one["url"], lab.key())[0] for one in deployed["endpoints"]} == {200}
