"""`apply` where something is in its way: nodes that are gone, keys and ports that differ, other fleets."""

import pytest

from sparkops.testing import BootRule, EngineBoot, Trouble
from support.world import Lab

GPT = "openai-gpt-oss-120b"


def on(*nodes: int, seqs: int = 3) -> str:
    """A solo deployment on one of these nodes."""
    return f"recipe: {GPT}, nodes: [{', '.join(f'node{one}' for one in nodes)}], set: {{args.max-num-seqs: {seqs}}}"


def small(share: float) -> str:
    return f"alongside: true, allow: [memory-fits], set: {{args.gpu-memory-utilization: {share}}}"


def write(lab: Lab, fleet: dict[str, str], file: str = "fleet.yml", name: str = "") -> None:
    lines = [f"  {one}: {{{text}}}" for one, text in fleet.items()]
    (lab.work / file).write_text("\n".join([*([f"name: {name}"] if name else []), "deployments:", *lines, ""]))


@pytest.fixture
def lab(lab_of: object) -> Lab:
    return lab_of(4)  # type: ignore[operator, no-any-return]


def settled(lab: Lab) -> bool:
    return not lab.json("apply")["changed"] and not lab.json("diff")["changed"]


def test_the_rest_of_a_cluster_makes_way_on_a_node_that_it_leaves(lab: Lab) -> None:
    write(lab, {"a": f"recipe: {GPT}, topology: cluster, nodes: [node1, node2]"})
    lab.cli("apply", code=0)
    head = next(name for node, name in lab.running() if node == "node1")
    lab.on("node1", "docker", "rm", "-f", head)
    write(lab, {"a": f"recipe: {GPT}, topology: cluster, nodes: [node1, node3]", "b": on(2)})
    lab.cli("apply", code=0)
    assert lab.crowded() == []
    assert settled(lab)


def test_a_node_whose_docker_does_not_answer_is_not_empty(lab: Lab) -> None:
    write(lab, {"a": f"recipe: {GPT}", "b": on(2)})
    lab.cli("apply", code=0)
    before = lab.running()
    with lab.trouble("node1", "no-docker-group"):
        lab.cli("apply", code=4)
    lab.anew(troubles=[Trouble("lost-applied", 3, 1000.0)])
    lab.cli("apply", code=4)
    assert lab.running() == before


@pytest.mark.parametrize("names", [("one", "two"), ("two", "one")])
def test_deployments_that_share_a_node_have_one_key(lab: Lab, names: tuple[str, str]) -> None:
    lab.deploy("solo", "--name", "seed", "--limit", "node1")
    lab.cli("stop", "seed", code=0)
    fleet = {
        "two": f"recipe: {GPT}, replicas: 2, nodes: [node1, node2], {small(0.3)}",
        "one": f"recipe: {GPT}, nodes: [node2], {small(0.3)}",
    }
    write(lab, {name: fleet[name] for name in names})
    lab.cli("apply", code=0)
    assert "keys-differ" not in [one["id"] for one in lab.json("status")["warnings"]]
    assert len({lab.json("key", "--deployment", name)["key"] for name in names}) == 1
    assert settled(lab)
    lab.cli("apply", code=0, SPARKOPS_API_KEY="sk-of-the-team")
    assert {lab.json("key", "--deployment", name)["key"] for name in names} == {"sk-of-the-team"}


def test_a_server_behind_a_proxy_keeps_its_port_beside_a_new_neighbour(lab: Lab) -> None:
    both = {"p": f"recipe: {GPT}, replicas: 2, {small(0.2)}", "q": f"recipe: {GPT}, nodes: [node2], {small(0.2)}"}
    write(lab, both)
    lab.cli("apply", code=0)
    assert settled(lab)


@pytest.mark.parametrize("at", range(17, 35, 2))
def test_a_rollback_after_a_kill_brings_back_all_that_served(lab: Lab, at: int) -> None:
    write(lab, {"a": on(1), "c": on(2)})
    lab.cli("apply", code=0)
    before = lab.running()
    write(lab, {"b": on(1, seqs=4), "c": on(2, seqs=4)})
    assert lab.killed(at, "apply")
    ran = lab.cli("rollback")
    assert ran.code or lab.running() == before
    assert ran.code == 0 or lab.json("status", code=5)["cut_off"]
    lab.cli("apply", code=0)
    assert lab.state() | {"a": "stopped"} == {"b": "serving", "c": "serving", "a": "stopped"}


@pytest.mark.parametrize("at", range(10, 17))
def test_a_node_that_goes_away_takes_nothing_down_that_moves_from_it(lab: Lab, at: int) -> None:
    write(lab, {"a": on(3)})
    lab.cli("apply", code=0)
    write(lab, {"a": on(1)})
    lab.anew(troubles=[Trouble("lost-applied", at, 1000.0)])
    lab.cli("apply", code=4)
    assert lab.running(), "either the old one or the new one serves"


def test_a_sick_deployment_that_does_not_change_stops_no_other(lab: Lab) -> None:
    write(lab, {"a": on(1, seqs=7), "b": on(2)})
    lab.cli("apply", code=0)
    lab.world.boot(BootRule.flag("7", EngineBoot(looks=3, crashes=True)))
    lab.fault("node1", "engine-killed")
    write(lab, {"a": on(1, seqs=7), "b": on(2, seqs=4)})
    lab.cli("apply", code=5)
    assert lab.state()["b"] == "serving"
    assert lab.json("diff")["deployments"][1]["action"] == "none"


def test_the_name_of_another_fleet_s_deployment_is_refused_and_its_own_ones_stay(lab: Lab) -> None:
    write(lab, {"chat": on(1)}, "x.yml")
    write(lab, {"chat": on(2)}, "y.yml")
    write(lab, {"coder": on(3)}, "z.yml")
    lab.cli("apply", "x.yml", code=0)
    assert "the fleet x has a deployment of this name on node1" in lab.cli("apply", "y.yml", code=3).err
    lab.cli("apply", "z.yml", code=0)
    assert {node for node, _ in lab.running()} == {"node1", "node3"}


def test_a_node_that_comes_back_with_an_old_version_does_not_win(lab: Lab) -> None:
    write(lab, {"a": f"recipe: {GPT}, set: {{args.max-num-seqs: 3}}"})
    lab.cli("apply", code=0)
    lab.world.lose("node1")
    write(lab, {"a": f"recipe: {GPT}, set: {{args.max-num-seqs: 4}}"})
    lab.cli("apply", "--limit", "node2,node3", code=0)
    right = lab.running()
    lab.world.heal("node1")
    lab.cli("apply", code=0)
    assert lab.running() == {one for one in right if one[0] != "node1"}


def test_flags_with_several_values_and_json_survive_the_way_into_a_file(lab: Lab) -> None:
    lists = ("--set", "args.served-model-name=foo", "--set", 'args.compilation-config={"cudagraph_mode": "NONE"}')
    lab.deploy("solo", "--name", "a", "--limit", "node1", *lists)
    assert lab.json("init", "--fleet")["differs"] == {}
    assert not lab.json("diff")["changed"]
    write(lab, {"a": f"recipe: {GPT}, nodes: [node1], set: {{args.served-model-name: [foo, bar]}}"})
    assert any("bar" in line for line in lab.json("diff")["deployments"][0]["why"])


def test_the_printed_command_has_the_options_that_were_typed(lab: Lab) -> None:
    write(lab, {"a": on(3)}, "my fleet.yml")
    said = lab.cli("diff", "my fleet.yml", "--limit", "node3,node4", "--deadline", "30m").out
    printed = said.split("To make it so: `")[1].split("`")[0]
    assert "apply 'my fleet.yml' --limit node3,node4 --deadline 30m --expect " in printed
    expected = printed.rsplit(" ", 1)[1]
    lab.cli("apply", "my fleet.yml", "--limit", "node3,node4", "--deadline", "30m", "--expect", expected, code=0)


def test_what_does_not_change_is_not_judged(lab: Lab) -> None:
    write(lab, {"a": on(1), "b": on(2)})
    lab.cli("apply", code=0)
    write(lab, {"a": on(1), "b": on(2, seqs=4)})
    with lab.trouble("node1", "gpu-hangs"):
        lab.cli("apply", code=0)


def test_what_only_an_earlier_version_left_is_no_change_of_the_deployment(lab: Lab) -> None:
    write(lab, {"a": f"recipe: {GPT}, topology: cluster"})
    lab.cli("apply", code=0)
    lab.world.lose("node2")
    lab.cli("apply", "--limit", "node1,node3,node4", code=0)
    served = {one for one in lab.running() if one[0] != "node2"}
    lab.world.heal("node2")
    found = lab.json("diff")
    assert [one["down"] for one in found["deployments"]] == [False]
    lab.cli("apply", code=0)
    assert lab.running() == served


def test_a_node_that_is_away_is_named_before_a_place_that_is_missing(lab: Lab) -> None:
    write(lab, {"a": on(1)})
    lab.cli("apply", code=0)
    lab.world.lose("node1")
    ended = lab.cli("diff", code=4)
    assert "node1" in ended.err
    assert "take a deployment out of the fleet" not in ended.err


def test_what_is_in_the_way_is_named(lab: Lab) -> None:
    write(lab, {"a": on(1)})
    lab.deploy("solo", "--name", "tmp", "--limit", "node1")
    assert "stop tmp" in lab.cli("diff", code=3).err


def test_the_history_of_an_apply_of_many_deployments_is_shown(lab: Lab) -> None:
    write(lab, {name: on(at) for at, name in enumerate("abcd", 1)})
    lab.cli("apply", code=0)
    write(lab, {name: on(at, seqs=4) for at, name in enumerate("abcd", 1)})
    lab.cli("apply", code=0)
    assert [run["verb"] for run in lab.json("history", "--tail", "1")["runs"]] == ["apply"]
