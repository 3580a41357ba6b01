"""A recipe for two nodes on a lab of four: as many as its sizes say, and copies of it behind one endpoint."""

import json

import pytest
import yaml

RECIPE = "extends: openai-gpt-oss-120b\nonly: [cluster]\nargs: {tensor-parallel-size: 2}\n"
SAID = "cluster uses node1 + node2 (on one switch with node1); not used: node3, node4"


def test_a_recipe_of_tp_2_takes_two_nodes_of_four_and_says_so(lab_with):
    lab = lab_with(nodes=4)
    recipe = lab.work / "two of four.yml"
    recipe.write_text(RECIPE)
    words = ("--topology", "cluster", "--recipe", recipe)
    assert SAID in lab.cli("plan", *words).err
    assert SAID in lab.cli("preflight", *words, code=None).err
    ran = lab.cli("deploy", *words)
    assert SAID in ran.err
    assert sorted((node, name.rsplit("-", 2)[1]) for node, name in lab.running()) == [
        ("node1", "head"),
        ("node2", "worker"),
    ]
    assert "2 nodes, 2 GPUs" in lab.cli("status", code=0).out
    other = lab.cli("deploy", *words, "--limit", "node4,node3,node2", "--set", "args.tensor-parallel-size=4", code=None)
    assert (other.code, "needs 4 nodes" in other.err) == (2, True)


def pairs(lab, *order):
    """The lab's inventory with its nodes in this order, and two copies of a recipe for two nodes."""
    hosts = yaml.safe_load((lab.directory / "inventory.yml").read_text())["all"]
    hosts["hosts"] = {name: hosts["hosts"][name] for name in order}
    inventory = lab.work / "in this order.yml"
    inventory.write_text(yaml.safe_dump({"all": hosts}, sort_keys=False))
    known = (lab.directory / "inventory.yml.known_hosts").read_text()
    (lab.work / "in this order.yml.known_hosts").write_text(known)
    recipe = lab.work / "two.yml"
    recipe.write_text(RECIPE)
    return ("-i", inventory), ("--topology", "2x-cluster", "--recipe", recipe, "--executor", "mp")


def test_copies_of_a_cluster_follow_the_cables_and_serve_behind_one_endpoint_when_a_node_is_lost(lab_with, until):
    lab = lab_with(nodes=4, fabric="pair")
    there, words = pairs(lab, "node1", "node3", "node4", "node2")
    assert json.loads(lab.cli(*there, "preflight", *words[:4], "--json", lab=False).out)["verdict"] == "pass"
    ran = lab.cli(*there, "deploy", *words, lab=False, code=0)
    assert "2x-cluster uses node1 + node2 (cabled to node1), node3 + node4 (cabled to node3)" in ran.err
    key, url = lab.key(), f"http://{lab.address('node1')}:8000"
    assert lab.json("status")["deployments"][0]["ranks"] == {"total": 4, "here": 4, "missing": []}
    lab.fault("node4", "reboot")
    answers = [lab.ask(url, key)[0] for _ in range(20)]
    assert set(answers) == {200}, "the other copy answers while one forms again"
    assert until(lambda: lab.state() == {"two": "serving"})
    before = lab.starts()
    assert not lab.json("deploy", *words)["changed"], "in another order too, the nodes stay as they are"
    assert lab.starts() == before


def test_a_restart_takes_one_copy_of_a_cluster_after_the_other(lab_with):
    lab = lab_with(nodes=4, fabric="pair")
    _, words = pairs(lab, "node1", "node2", "node3", "node4")
    lab.json("deploy", *words)
    lab.mark()
    restarted = lab.json("restart")
    assert ([one["node"] for one in restarted["restarted"]], restarted["in_turns"]) == (
        ["node1", "node2", "node3", "node4"],
        True,
    )
    stops = [one.node for one in lab.changed() if "stop" in one.shown.split()]
    assert (sorted(stops[:2]), sorted(stops[2:])) == (["node1", "node2"], ["node3", "node4"])
    assert lab.state() == {"two": "serving"}


@pytest.mark.parametrize(
    ("executor", "sizes"),
    [("ray", {"tensor": 2, "data": 2}), ("mp", {"data": 4}), ("mp", {"tensor": 2, "pipeline": 2})],
    ids=lambda value: "x".join(value) if isinstance(value, dict) else value,
)
def test_a_split_fills_four_nodes_and_a_lost_rank_comes_back(lab_with, until, executor, sizes):
    lab = lab_with(nodes=4)
    split = [word for way, size in sizes.items() for word in ("--set", f"args.{way}-parallel-size={size}")]
    experts = ("--set", "args.enable-expert-parallel=true") if "data" in sizes else ()
    lab.json("deploy", "--topology", "cluster", "--executor", executor, *split, *experts)
    assert sorted(node for node, _ in lab.running()) == sorted(lab.names)
    assert lab.serves()
    before = lab.starts()
    lab.fault("node4", "reboot")
    assert until(
        lambda: (
            lab.state() == {"openai-gpt-oss-120b": "serving"}
            and lab.serves()
            and not before.items() & lab.starts().items()
        )  # without one rank there is none
    )


def test_a_worker_out_of_reach_joins_no_ray_head_of_the_next_deployment(lab_with, until):
    lab = lab_with(nodes=3)
    words = ("cluster", "--executor", "ray", "--limit")
    lab.deploy(*words, "node1,node3")
    with lab.trouble("node3", "unreachable"):
        lab.deploy(*words, "node1,node2", "--set", "args.max-num-seqs=8")
    left = next(name for node, name in lab.running() if node == "node3")
    assert until(lambda: "is of another deployment" in lab.on("node3", "docker", "logs", left))
    shown = {one["hash"][:8]: one for one in lab.json("status", code=5)["deployments"]}
    serving = next(one for one in shown.values() if one["state"] == "serving")
    assert serving["ray"] == {"nodes": 2, "gpus": 2}
    assert "could not reach node3, where the worker still runs" in shown[left.rsplit("-", 1)[1]]["cause"]
    lab.cli("restart", serving["hash"][:8], code=0)
    lab.cli("stop", left.rsplit("-", 1)[1], "--limit", "node3", code=0)
    assert lab.json("status", code=0)["deployments"]
