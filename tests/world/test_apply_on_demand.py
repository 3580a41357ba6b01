"""`apply` with deployments on demand: they take turns on their nodes, and the endpoint may start and stop them."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from world.test_apply import GPT, write

from sparkops.testing import Trouble
from support.world import Lab

ON_NODE1 = f"recipe: {GPT}, nodes: [node1]"
TWO = {"chat": ON_NODE1, "coder": ON_NODE1 + ", set: {args.max-num-seqs: 4, args.served-model-name: code}"}
ENDPOINT = "node: node1, names: {auto: chat}"


@pytest.fixture
def lab(lab_of: Callable[[int], Lab]) -> Lab:
    found = lab_of(3)
    found.cli("trust", "--yes", code=0)
    return found


def apply(lab: Lab, fleet: dict[str, str], on_demand: str = "idle: 10m") -> Any:
    write(lab, fleet, endpoint=ENDPOINT, **{"on-demand": on_demand})
    return lab.json("apply")


def files(lab: Lab, node: str = "node1") -> dict[str, str]:
    """The endpoint's files for deployments on demand, by name."""
    there = [(path.split("/"), text) for path, text in lab.node(node).files.items()]
    return {path[-1]: text for path, text in there if "gateways" in path and path[-2] == "ondemand"}


def states(lab: Lab) -> dict[str, str]:
    return {one.name: one.state for one in lab.node("node1").engine.containers.values() if "gateway" not in one.name}


def test_each_starts_once_and_the_last_one_stays(lab: Lab) -> None:
    apply(lab, TWO)
    assert lab.state() == {"chat": "stopped", "coder": "serving", "fleet-gateway": "serving"}
    assert "chat  asleep  " in lab.cli("status").out
    found = json.loads(files(lab)["on-demand.json"])
    assert {name: one["idle"] for name, one in found["deployments"].items()} == {"chat": 600, "coder": 600}
    assert [one["containers"][0][0] for one in found["deployments"].values()] == ["node1", "node1"]
    lab.mark()
    assert not lab.json("apply")["changed"]
    assert not lab.json("diff", "--exit-code")["changed"]
    assert lab.changed() == []


def test_the_file_is_written_from_what_serves_and_sleeps(lab: Lab) -> None:
    fleet = TWO | {"far": f"recipe: {GPT}, nodes: [node2]"}
    write(
        lab,
        fleet,
        endpoint="node: node1, names: {auto: loaded}",
        **{"on-demand": "idle: 10m, keep: [far], priority: [coder]"},
    )
    lab.json("apply")
    (lab.work / "fleet.yml").unlink()
    assert set(lab.json("init", "--fleet")["deployments"]) == {"chat", "coder", "far"}
    written = (lab.work / "fleet.yml").read_text()
    assert 'on-demand: {idle: "600s", keep: [far], priority: [coder]}' in written
    assert not lab.json("diff", "--exit-code")["changed"]


def test_by_hand_only_what_is_on_demand_is_switched_and_only_by_an_endpoint_that_runs(lab: Lab) -> None:
    apply(lab, TWO | {"far": f"recipe: {GPT}, nodes: [node2]"}, "keep: [far]")
    refused = lab.json("model", "activate", "far", code=3)["error"]
    assert refused["message"] == "far is not on demand"
    assert refused["hint"].startswith("those that are: chat, coder; ")
    lab.cli("stop", "fleet-gateway", code=0)
    assert "does not run" in lab.json("model", "sleep", "chat", code=3)["error"]["message"]


def test_the_nodes_are_open_to_the_endpoint_for_these_containers(lab: Lab) -> None:
    apply(lab, TWO | {"far": f"recipe: {GPT}, nodes: [node2]"}, "keep: [far]")
    door = lab.node("node1").files[f"{lab.node('node1').state_dir}/ondemand/fleet-gateway/containers"].splitlines()
    assert door[0].startswith("restrict,command=")
    assert files(lab)["key.pub"] in door[0]
    assert [line.split()[1] for line in door[2:]] == ["chat", "coder"]
    assert files(lab)["key"].startswith("-----BEGIN OPENSSH PRIVATE KEY-----")
    assert files(lab)["known"].startswith("node1 ssh-")
    assert not any("/ondemand/" in path for path in lab.node("node2").files)


def test_a_change_of_one_wakes_no_other_and_keeps_the_key(lab: Lab) -> None:
    apply(lab, TWO)
    before = files(lab)
    starts = lab.starts()
    apply(lab, {**TWO, "coder": TWO["coder"].replace("4", "8")})
    assert lab.state()["coder"] == "serving"
    assert {name for (_, name), at in lab.starts().items() if starts.get((_, name)) != at} == {
        name for name in states(lab) if "coder" in name and states(lab)[name] == "running"
    }
    assert files(lab)["key.pub"] == before["key.pub"]
    assert files(lab)["on-demand.json"] != before["on-demand.json"]
    assert not lab.json("apply")["changed"]


def test_without_the_key_all_of_it_goes(lab: Lab) -> None:
    apply(lab, {"chat": TWO["chat"]})
    write(lab, {"chat": TWO["chat"]}, endpoint=ENDPOINT)
    lab.cli("apply", code=0)
    assert not any("/ondemand/" in path for path in lab.node("node1").files)
    assert not lab.json("apply")["changed"]


@pytest.mark.parametrize("at", range(4, 28, 3))
def test_an_interrupt_undoes_all_of_it(lab: Lab, at: int) -> None:
    apply(lab, {"chat": TWO["chat"]})
    before = ours(lab)
    write(lab, TWO, endpoint=ENDPOINT, **{"on-demand": "idle: 10m"})
    lab.anew(seed=at, troubles=[Trouble("interrupt", at, 1000.0)])
    lab.cli("apply", code=130)
    assert lab.state()["chat"] == "serving"
    assert ours(lab) == before


def ours(lab: Lab) -> dict[str, str]:
    return {path: text for path, text in lab.node("node1").files.items() if "ondemand" in path}


@pytest.mark.parametrize(
    ("on_demand", "endpoint", "told"),
    [
        ("idle: soon", ENDPOINT, "on-demand.idle"),
        ("keep: [other]", ENDPOINT, "there is no deployment other"),
        ("priority: [other]", ENDPOINT, "there is no deployment other"),
        ("idle: 5m", "", "needs an `endpoint`"),
        ("idel: 5m", ENDPOINT, "idel"),
    ],
)
def test_what_is_written_wrong_is_told_with_its_place(lab: Lab, on_demand: str, endpoint: str, told: str) -> None:
    more = {"endpoint": endpoint} if endpoint else {}
    write(lab, TWO, **more, **{"on-demand": on_demand})
    errors = lab.cli("diff", code=2).err
    assert told in errors
    assert "fleet.yml:" in errors
