"""Three and four nodes, cabled as a triangle, a ring and with a switch: real vLLM split over them, and what is lost."""

import dataclasses
import json
from collections.abc import Iterator
from typing import Any

import pytest

from support import models, serving
from support.long import LONG

MP = ("cluster", "--executor", "mp")
RECIPE = f"""
model: {models.MODEL}
container: vllm-node-mxfp4
args: {{tensor-parallel-size: 3}}
"""
triangle = pytest.mark.parametrize("cabled", [("triangle", 3)], indirect=True)
ring = pytest.mark.parametrize("cabled", [("ring", 4)], indirect=True)
switch = pytest.mark.parametrize("cabled", [("switch", 4)], indirect=True)


@pytest.fixture(scope="module")
def cabled(new_lab, request) -> Iterator[Any]:
    """A lab with this fabric and so many nodes, until a test takes another one."""
    fabric, count = request.param
    lab = dataclasses.replace(new_lab(), nodes=tuple(f"node{number}" for number in range(1, count + 1)))
    lab.cli("lab", "up", "--backend", "docker", "--nodes", count, "--fabric", fabric)
    lab.spare_the_caches()
    assert lab.json("fabric")["verdict"] == "pass"
    yield lab
    lab.end()
    lab.cli("lab", "down")


def roles(head: str, workers: str) -> list[tuple[str, str]]:
    return sorted([(f"node{head}", "head"), *((f"node{number}", "worker") for number in workers)])


def answered(lab: Any, tokens: int = 8, **more: Any) -> bool:
    return lab.is_real("node1", "head") and lab.ask(tokens=tokens, **more).tokens == tokens


@triangle
def test_three_nodes_without_a_switch_that_share_no_heads_share_the_layers(cabled):
    refused = cabled.deploy("cluster", code=3)["error"]
    assert "does not divide the 64 attention heads" in refused["message"]
    layers = "--set args.pipeline-parallel-size=3"
    assert layers in refused["hint"]
    cabled.deploy(*MP, *layers.split())
    assert cabled.roles() == roles("1", "23")
    assert cabled.ranks() == 3
    devices = cabled.variable("node1", "head", "NCCL_IB_HCA").split(",")
    assert devices == ["rocep1s0f0", "roceP2p1s0f0", "rocep1s0f1", "roceP2p1s0f1"], "those of both cables"
    assert answered(cabled)


@triangle
def test_a_model_is_copied_over_the_cables_of_a_triangle_and_its_heads_shared_by_three(cabled, tmp_path):
    fetched = cabled.fetch_tiny_model()
    assert [(one["fetched"] > 0, one["copied"] > 0) for one in fetched] == [(True, False), (False, True), (False, True)]
    recipe = tmp_path / "three heads.yml"
    recipe.write_text(RECIPE)
    cabled.deploy("cluster", "--executor", "ray", "--recipe", recipe)
    assert answered(cabled, model=models.MODEL)


@ring
def test_a_ring_of_four_serves_and_its_pulled_cable_is_named(cabled, eventually):
    refused = cabled.deploy(*MP, "--set", "args.pipeline-parallel-size=4", code=3)
    assert "fabric-split" in json.dumps(refused)
    cabled.deploy("cluster")
    assert cabled.roles() == roles("1", "234")
    assert {cabled.variable(*one, "NCCL_ALGO") for one in cabled.roles()} == {"Ring"}
    assert answered(cabled)
    with cabled.trouble("node2", "cable-pulled"):
        found = cabled.json("fabric", code=3)
        assert "no cable connects node1 to node2" in json.dumps(found)
        assert "connect node1 p0 to node2 p1" in json.dumps(found)
    assert eventually(lambda: cabled.json("fabric", code=None)["verdict"] == "pass")
    assert cabled.deploy("cluster")["changed"] is False
    assert answered(cabled)


@LONG
@switch
def test_four_nodes_share_the_layers_and_each_two_the_heads(cabled):
    cabled.deploy(*MP, "--set", "args.tensor-parallel-size=2", "--set", "args.pipeline-parallel-size=2")
    assert cabled.roles() == roles("1", "234")
    assert answered(cabled)


@switch
def test_two_copies_of_two_nodes_answer_while_one_node_is_without_power_and_after_it_is_back(cabled, eventually):
    (endpoint,) = cabled.deploy("2x-cluster", "--executor", "mp", "--set", "env.LAB_ENGINE=standin")["endpoints"]
    assert cabled.roles() == sorted([*roles("1", "2"), *roles("3", "4"), ("node1", "proxy")])
    with cabled.trouble("node4", "node-off"):
        with serving.Client(endpoint["url"], cabled.key(), pause=0.5) as client:
            assert eventually(lambda: client.answers["whole"] > 20)
        assert set(client.answers) == {"whole"}, client.answers
        shown, _ = cabled.going()
        assert shown["state"] == "unreachable"
    assert eventually(cabled.serving)
    assert cabled.ask(port=8000).tokens == 4
