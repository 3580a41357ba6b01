"""A deployment stays where it is, whatever else happens to the nodes that were selected beside."""

from pathlib import Path

import pytest

from support.world import Lab

TWO = "{extends: openai-gpt-oss-120b, args: {tensor-parallel-size: 2}}"
SMALL = "{extends: openai-gpt-oss-120b, only: [solo], args: {gpu-memory-utilization: 0.7}}"


BIG = ("solo", "--recipe", "small.yml", "--name", "big")


def nodes_of(lab: Lab, name: str) -> set[str]:
    return {node for node, container in lab.running() if container.startswith(f"sparkops-{name}-")}


@pytest.fixture
def four(tmp_path: Path) -> Lab:
    """A cluster on the first two nodes, and a server beside it on the third, which sparkops chose."""
    lab = Lab(tmp_path, nodes=4)
    (lab.work / "two.yml").write_text(TWO)
    (lab.work / "small.yml").write_text(SMALL)
    lab.deploy("cluster", "--recipe", "two.yml", "--limit", "node1,node2")
    lab.deploy("solo", "--recipe", "small.yml", "--alongside")
    assert (nodes_of(lab, "two"), nodes_of(lab, "small")) == ({"node1", "node2"}, {"node3"})
    return lab


@pytest.fixture
def lab_of_three(tmp_path: Path) -> Lab:
    lab = Lab(tmp_path, nodes=3)
    (lab.work / "small.yml").write_text(SMALL)
    return lab


@pytest.mark.parametrize("trouble", ["unreachable", "no-docker-group"])
@pytest.mark.parametrize("name", ["node1", "node3", "node4"])
def test_it_is_started_nowhere_else_while_a_node_says_nothing(four: Lab, name: str, trouble: str) -> None:
    before, off = four.starts(), four.fault(name, trouble)
    four.cli("deploy", "--topology", "solo", "--recipe", "small.yml")
    four.cli("deploy", "--topology", "cluster", "--recipe", "two.yml")
    off()
    assert four.starts() == before


@pytest.mark.parametrize("kind", ["crash-after", "crash-before"])
def test_a_deploy_that_was_cut_off_at_any_moment_goes_on_where_it_was(four: Lab, kind: str) -> None:
    again = ("deploy", "--topology", "solo", "--recipe", "small.yml")
    for at in range(1, 60):
        if not four.killed(at, *again, "--set", f"args.max-num-seqs={at}", kind=kind):
            break
        four.cli(*again, code=0)
        assert (nodes_of(four, "small"), nodes_of(four, "two")) == ({"node3"}, {"node1", "node2"}), at
    assert at > 15


def test_what_another_person_deploys_meanwhile_is_seen_under_the_lock(four: Lab) -> None:
    four.json("stop", "small", "--remove")
    elsewhere = ("deploy", "--topology", "solo", "--recipe", "small.yml", "--limit", "node4")
    four.meets(5, lambda other: other.cli(*elsewhere, code=0))
    four.cli("deploy", "--topology", "solo", "--recipe", "small.yml", code=0)
    assert nodes_of(four, "small") == {"node4"}


def test_copies_stay_together_as_they_are(four: Lab) -> None:
    four.json("stop", "--remove")
    four.deploy("cluster", "--recipe", "two.yml", "--limit", "node2,node3")
    four.deploy("2x-cluster", "--recipe", "two.yml")
    before = four.starts()
    assert not four.deploy("2x-cluster", "--recipe", "two.yml")["changed"]
    assert four.starts() == before
    told = four.json("plan", "--topology", "2x-cluster", "--recipe", "two.yml")["placement"]
    assert [one["name"] for one in told["nodes"] if one["role"] != "proxy"] == ["node2", "node3", "node1", "node4"]


def test_preflight_judges_and_mends_the_nodes_that_a_deploy_takes(four: Lab) -> None:
    four.node("node3").models.clear()
    words = ("preflight", "--topology", "solo", "--recipe", "small.yml")
    for more in ((), ("--only", "model-present")):
        found = four.json(*words, *more, code=3)["nodes"]
        assert {one["name"] for one in found if one["verdict"] == "fail"} == {"node3"}, more
    four.node("node3").add_model("openai/gpt-oss-120b")
    four.node("node3").engine.store.clear()
    four.cli(*words, "--fix", "--yes", code=0)
    assert four.json(*words)["verdict"] == "pass"


def test_an_address_that_two_copies_on_one_switch_share_is_refused(four: Lab) -> None:
    four.node("node3").fabric_address = four.node("node1").fabric_address
    words = ("--topology", "2x-cluster", "--recipe", "two.yml")
    assert "cx7-one-owner" in four.json("deploy", *words, code=3)["error"]["message"]


def test_what_was_stopped_long_ago_does_not_hide_where_it_runs(lab_of_three: Lab) -> None:
    lab, small = lab_of_three, ("solo", "--recipe", "small.yml")
    lab.deploy(*small, "--limit", "node1")
    lab.json("stop")
    lab.deploy(*small, "--limit", "node3")
    off = lab.fault("node3", "unreachable")
    error = lab.json("deploy", "--topology", *small, code=4)["error"]
    assert "it may run this deployment; to deploy without it: --limit node1,node2" in error["hint"]
    off()
    assert nodes_of(lab, "small") == {"node3"}


def test_what_was_stopped_goes_elsewhere_where_another_one_serves_or_has_the_memory(lab_of_three: Lab) -> None:
    lab, small = lab_of_three, ("solo", "--recipe", "small.yml")
    for alongside in ((), ("--alongside",)):
        lab.deploy(*small, "--limit", "node2")
        lab.json("stop", "small")
        lab.deploy(*BIG, "--limit", "node2")
        lab.deploy(*small, *alongside)
        assert (nodes_of(lab, "big"), nodes_of(lab, "small")) == ({"node2"}, {"node1"})
        lab.json("stop", "--remove")
