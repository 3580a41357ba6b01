"""The README's first steps over one lab: up, preflight, every topology, a failure that is undone, down."""

import pytest


def test_a_lab_that_is_up_shows_its_nodes(lab):
    nodes = lab.cli("lab", "status", "--json", lab=False, code=0).document["nodes"]
    assert [(node["name"], node["address"]) for node in nodes] == [(name, lab.address(name)) for name in lab.names]


def test_nodes_without_a_fault_pass(lab):
    assert lab.json("preflight")["verdict"] == "pass"
    assert not lab.changed()


@pytest.mark.parametrize("topology", ["cluster", "2x-solo", "solo"])
def test_a_model_is_deployed_answers_who_has_the_key_is_stopped_and_started_again(empty, until, topology):
    lab = empty
    deployed = lab.deploy(topology)
    (endpoint,) = deployed["endpoints"]
    code, answer = lab.ask(endpoint["url"], lab.key(), endpoint["model"])
    assert (code, answer["usage"]["completion_tokens"] > 0) == (200, True)
    assert lab.ask(endpoint["url"], "sk-wrong")[0] == 401
    assert until(lambda: [one["state"] for one in lab.shown()] == ["serving"])
    lab.mark()
    assert lab.deploy(topology)["changed"] is False
    assert lab.changed() == []
    served = lab.running()
    lab.json("stop")
    assert lab.running() == set()
    assert until(lambda: not lab.processes(outside=True)), "no job outlives the deployment that it was for"
    assert lab.json("start")["endpoints"] == [endpoint]
    assert lab.running() == served == lab.containers()
    assert lab.ask(endpoint["url"], lab.key(), endpoint["model"])[0] == 200
    lab.json("stop", "--remove")
    assert lab.containers() == set()
    assert until(lambda: not lab.processes(outside=True))


def test_a_crash_while_loading_is_told_and_what_served_before_serves_again(empty, until):
    lab = empty
    lab.deploy("solo", "--limit", "node1")
    before = lab.containers()
    with lab.trouble("node2", "crash-while-loading"):
        error = lab.deploy("cluster", code=5)["error"]
    assert any("died unexpectedly" in log["tail"] for log in error["logs"])
    assert error["diagnosis"]["line"]
    assert lab.containers() == before == lab.running()
    assert until(lab.serves)
    assert [one for one in lab.json("logs", "--previous")["logs"] if "died unexpectedly" in one["text"]]


def test_a_lab_that_goes_down_leaves_nothing(lab_with):
    lab = lab_with(nodes=1)  # of its own: whichever test comes next finds the others' lab up
    lab.down()
    assert "lab up" in lab.cli("status", code=2).err
