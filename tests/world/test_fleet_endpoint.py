"""`endpoint` in a fleet's file: one address for all deployments, which follows each `apply` without a restart."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from world.test_apply import GPT, QWEN, write

from sparkops.core.proxy_image import DEFAULT, called
from sparkops.testing import Trouble
from support.world import Lab

FIRST = {"endpoint": "node: node1, names: {auto: chat}"}
TWO = {"chat": f"recipe: {GPT}, nodes: [node2]", "other": f"recipe: {QWEN}, nodes: [node3]"}
MODEL = "openai/gpt-oss-120b"


@pytest.fixture
def lab(lab_of: Callable[[int], Lab]) -> Lab:
    return lab_of(4)


def config(lab: Lab, node: str = "node1") -> dict[str, Any]:
    """The newest configuration of the endpoint on this node."""
    one = gateways(lab, node)[-1]
    name = f"{one.labels['sparkops.deployment']}-{one.labels['sparkops.hash'][:8]}"
    there = lab.world.nodes[node]
    return dict(json.loads(there.files[f"{there.state_dir}/gateways/{name}/routes.json"]))


def gateways(lab: Lab, node: str) -> list[Any]:
    """The containers of endpoints on this node that run."""
    listed = lab.world.nodes[node].engine.listed()
    return [one for one in listed if one.running and one.labels["sparkops.deployment"].endswith("-gateway")]


def routes(lab: Lab, node: str = "node1") -> dict[str, set[str]]:
    """By model name, the nodes that the endpoint routes to."""
    places = {one.address: name for name, one in lab.world.nodes.items()}
    found: dict[str, set[str]] = {}
    for name, route in config(lab, node)["routes"].items():
        addresses = (one["url"].split("/")[2].partition(":")[0] for one in route["servers"])
        found[name] = {places[address] for address in addresses}
    return found


def digests(lab: Lab) -> dict[str, set[str]]:
    """By the digest of a deployment's key, the model names that it opens."""
    found: dict[str, set[str]] = {}
    for name, route in config(lab)["routes"].items():
        for one in route["servers"]:
            found.setdefault(one["key"], set()).add(name)
    return found


def endpoint(lab: Lab) -> dict[str, Any]:
    return dict(lab.json("diff")["endpoint"])


def test_apply_starts_it_and_routes_each_model_name_to_its_deployment(lab: Lab) -> None:
    write(lab, TWO, **FIRST)
    assert endpoint(lab)["action"] == "new"
    found = lab.json("apply")["endpoint"]
    names = {one["name"]: one["deployments"] for one in found["models"]}
    assert sorted(names.values()) == [["chat"], ["chat"], ["other"]]
    assert names["auto"] == ["chat"]
    assert routes(lab) == {name: {"node2" if of == ["chat"] else "node3"} for name, of in names.items()}
    lab.mark()
    assert not lab.json("apply")["changed"]
    assert lab.changed() == []
    assert endpoint(lab)["action"] == "none"


def test_each_key_opens_the_models_of_its_deployments_and_no_key_is_stored(lab: Lab) -> None:
    write(lab, TWO, **FIRST)
    lab.cli("apply", code=0)
    nodes = lab.world.nodes
    keys = {nodes[name].files[f"{nodes[name].state_dir}/key"].strip() for name in ("node2", "node3")}
    text = json.dumps(config(lab))
    assert not [key for key in keys if key in text]
    assert len(digests(lab)) == len(keys) == 1
    write(lab, {**TWO, "other": TWO["other"] + ", api-key: false"}, **FIRST)
    lab.cli("apply", code=0)
    assert {key != "": len(names) for key, names in digests(lab).items()} == {True: 2, False: 1}


def test_another_deployment_and_a_move_change_its_routes_and_not_its_container(lab: Lab) -> None:
    write(lab, {"chat": TWO["chat"]}, **FIRST)
    lab.cli("apply", code=0)
    starts = lab.starts()
    write(lab, TWO, **FIRST)
    assert endpoint(lab)["action"] == "routes"
    lab.cli("apply", code=0)
    write(lab, {**TWO, "chat": TWO["chat"].replace("node2", "node4")}, **FIRST)
    lab.mark()
    lab.cli("apply", code=0)
    assert routes(lab)["auto"] == {"node4"}
    assert {at: when for at, when in lab.starts().items() if at[0] == "node1"}.items() <= starts.items()
    sent = [(one.node, " ".join(one.shown.split()[:2])) for one in lab.changed()]
    begins, routed = sent.index(("node4", "docker run")), sent.index(("node1", "@file write"))
    assert begins < routed < sent.index(("node2", "@container stop"))


def test_deployments_of_one_model_name_answer_in_turn_and_have_one_key(lab: Lab) -> None:
    for name, node in (("chat", "node2"), ("more", "node3")):
        lab.deploy("solo", "--name", name, "--limit", node)
    write(lab, {"chat": TWO["chat"], "more": f"recipe: {GPT}, nodes: [node3]"}, **FIRST)
    lab.cli("apply", code=0)
    assert routes(lab)["auto"] == {"node2"}
    assert {"node2", "node3"} in routes(lab).values()
    assert len(digests(lab)) == 1
    assert not lab.json("apply")["changed"]


MOVED = {"chat": TWO["chat"].replace("node2", "node4"), "other": TWO["other"]}


def test_ctrl_c_anywhere_brings_back_the_routes_with_what_they_lead_to(lab: Lab) -> None:
    write(lab, TWO, **FIRST)
    lab.cli("apply", code=0)
    before = (routes(lab), lab.running())
    write(lab, MOVED, endpoint="node: node1, names: {best: chat}")
    for at in range(1, 80):
        lab.anew(troubles=[Trouble("interrupt", at)])
        code = lab.cli("apply").code
        lab.anew()
        if (routes(lab), lab.running()) != before:
            break
    assert at > 20
    assert (code, routes(lab)["best"]) in ((0, {"node4"}), (130, {"node4"}))
    lab.cli("apply", code=0)
    assert set(routes(lab)) == {one["name"] for one in endpoint(lab)["models"]}


def test_after_a_kill_at_any_command_an_apply_reaches_the_file(lab: Lab) -> None:
    files = [(TWO, "node: node1"), (MOVED, "node: node1, port: 4100, names: {best: other}")]
    write(lab, TWO, endpoint=files[0][1])
    lab.cli("apply", code=0)
    for at in range(1, 80):
        deployments, front = files[at % 2]
        write(lab, deployments, endpoint=front)
        if not lab.killed(at, "apply"):
            break
        lab.cli("apply", code=0)
        assert not lab.json("diff", "--exit-code")["changed"]
        assert [len(gateways(lab, node)) for node in lab.names] == [1, 0, 0, 0]
        assert ("best" in routes(lab)) == bool(at % 2)
    assert at > 20


def test_a_new_port_starts_another_one_before_the_first_ends(lab: Lab) -> None:
    write(lab, TWO, **FIRST)
    lab.cli("apply", code=0)
    write(lab, TWO, endpoint="node: node1, port: 4100, names: {auto: chat}")
    found = endpoint(lab)
    assert (found["action"], found["was"].rpartition(":")[2]) == ("move", "4000/v1")
    assert [(one["name"], one["why"]) for one in lab.json("diff")["ends"]] == [("fleet-gateway", "moved")]
    lab.cli("apply", code=0)
    assert len(gateways(lab, "node1")) == 1
    write(lab, TWO, endpoint="node: node4")
    lab.cli("apply", code=0)
    assert (gateways(lab, "node1"), len(gateways(lab, "node4"))) == ([], 1)
    assert not lab.json("apply")["changed"]


def test_it_ends_when_the_file_no_longer_has_it(lab: Lab) -> None:
    write(lab, TWO, **FIRST)
    lab.cli("apply", code=0)
    write(lab, TWO)
    assert [(one["name"], one["why"]) for one in lab.json("diff")["ends"]] == [("fleet-gateway", "not in the file")]
    lab.cli("apply", code=0)
    assert gateways(lab, "node1") == []
    assert lab.state() == dict.fromkeys(TWO, "serving")


def test_one_that_was_removed_by_hand_is_started_again(lab: Lab) -> None:
    write(lab, TWO, **FIRST)
    lab.cli("apply", code=0)
    (one,) = gateways(lab, "node1")
    del lab.world.nodes["node1"].engine.containers[one.name]
    assert endpoint(lab)["action"] == "new"
    lab.cli("apply", code=0)
    assert len(gateways(lab, "node1")) == 1


def test_no_deploy_on_its_node_ends_it(lab: Lab) -> None:
    write(lab, TWO, **FIRST)
    lab.cli("apply", code=0)
    lab.deploy("solo", "--name", "mine", "--limit", "node1")
    assert len(gateways(lab, "node1")) == 1


@pytest.mark.parametrize(
    ("written", "told", "cure"),
    [
        ("node: node9", "the inventory has no node node9", "name one of its nodes: node1, node2"),
        ("node: node1, names: {auto: chatt}", "there is no deployment chatt", "the deployments of this file are chat"),
        ("node: node2, port: 8000", "chat: needs port 8000 of node2", "which the endpoint has"),
        ("node: node1, port: 99999", "endpoint.port: must be between 1 and", "not 99999"),
        ("port: 4000", "node", ""),
        (f"node: node1, names: {{{MODEL}: other}}", "is already the model of chat", "choose another name"),
        (f"node: node1, names: {{{MODEL}: loaded}}", "is already the model of chat", "choose another name"),
    ],
)
def test_a_mistake_is_refused_with_its_place_and_a_cure(lab: Lab, written: str, told: str, cure: str) -> None:
    write(lab, {"chat": TWO["chat"] + ", port: 8000", "other": TWO["other"]}, endpoint=written)
    ended = lab.cli("diff")
    assert ended.code in (2, 3)
    assert f"fleet.yml:{2 if told.startswith('chat: ') else 4}" in ended.err
    assert told in ended.err
    assert cure in ended.err


def test_a_stranger_on_its_port_is_named(lab: Lab) -> None:
    write(lab, TWO, endpoint="node: node1, port: 22")
    assert "uses port 22 of node1" in lab.cli("apply", code=3).err


def test_status_shows_it_with_its_models_and_stop_and_start_know_it(lab: Lab) -> None:
    write(lab, TWO, **FIRST)
    lab.cli("apply", code=0)
    everything = dict.fromkeys((*TWO, "fleet-gateway"), "serving")
    assert lab.state() == everything
    (row,) = lab.json("status", "fleet-gateway")["deployments"]
    assert (row["model"].count(","), row["endpoints"][0]["healthy"]) == (2, True)
    lab.cli("stop", "fleet-gateway", code=0)
    assert lab.state() == {**everything, "fleet-gateway": "stopped"}
    assert endpoint(lab)["action"] == "start"
    lab.cli("apply", code=0)
    lab.cli("stop", code=0)
    assert set(lab.state().values()) == {"stopped"}
    lab.cli("start", code=0)
    assert lab.state() == everything
    assert lab.cli("logs", "fleet-gateway", code=0).out


def warned(lab: Lab) -> list[tuple[str, str]]:
    return [(one["id"], one["text"]) for one in lab.json("status")["warnings"] if one["id"].startswith("fleet-")]


def test_status_warns_if_it_does_not_run_or_is_no_longer_in_the_file(lab: Lab) -> None:
    write(lab, TWO, **FIRST)
    lab.cli("apply", code=0)
    assert warned(lab) == []
    lab.cli("stop", "fleet-gateway", code=0)
    assert warned(lab) == [("fleet-missing", "fleet-gateway of fleet.yml does not run")]
    lab.cli("start", code=0)
    write(lab, TWO)
    assert warned(lab) == [("fleet-extra", "fleet-gateway is no longer in fleet.yml")]


def test_single_commands_still_know_the_only_deployment(lab: Lab) -> None:
    write(lab, {"chat": TWO["chat"]}, **FIRST)
    lab.cli("apply", code=0)
    for words in (("key",), ("restart",), ("logs",)):
        lab.cli(*words, code=0)
    assert lab.state() == {"chat": "serving", "fleet-gateway": "serving"}
    address = lab.json("endpoint", "--for", "openai")["variables"]["OPENAI_BASE_URL"]
    assert address == f"http://{lab.address('node1')}:4000/v1"


def test_its_image_is_got_by_setup(lab: Lab) -> None:
    write(lab, {"chat": TWO["chat"]}, **FIRST)
    image = called(DEFAULT)
    for name in lab.names:
        lab.node(name).engine.store.remove(image)
    assert "lacks the image" in lab.cli("apply", code=3).err
    assert endpoint(lab)["gets"]
    found = lab.json("apply", "--setup")
    assert [text for text in found["setup"] if image in text]
    assert len(gateways(lab, "node1")) == 1


def test_a_file_that_is_written_from_the_nodes_has_it_and_changes_nothing(lab: Lab) -> None:
    write(lab, TWO, **FIRST)
    (lab.work / "fleet.yml").write_text((lab.work / "fleet.yml").read_text() + "name: us\n")
    lab.cli("apply", code=0)
    lab.cli("init", "--fleet", "--force", code=0)
    text = (lab.work / "fleet.yml").read_text()
    assert "endpoint: {node: node1, names: {auto: chat}}" in text
    assert "name: us" in text
    assert not lab.json("diff")["changed"]


def test_the_next_step_after_a_start_of_it_alone_asks_for_no_model(lab: Lab) -> None:
    write(lab, TWO, **FIRST)
    lab.cli("apply", code=0)
    lab.cli("stop", "fleet-gateway", code=0)
    assert "curl" not in lab.cli("start", "fleet-gateway", code=0).out
