"""Recipes of NVIDIA on simulated nodes: what their commands leave to a person, sparkops knows of each node."""

import pytest

from sparkops.core.images import Software
from support.paths import TESTS

THEIRS = TESTS / "unit/formats/nvidia"
SOLO, PAIR = (str(THEIRS / name / "recipe.yaml") for name in ("tern-8b/dgx-spark", "marlin-70b/dgx-spark-2gpu"))


@pytest.fixture
def ready(lab):
    """Two nodes with all that both recipes need."""
    for node in lab.world.nodes.values():
        node.engine.add_image("acme/vllm-spark:latest", software=Software("0.32.0", "2.30.4"))
        node.engine.add_image("acme/vllm:v0.29.0", software=Software("0.29.0", "2.30.4", torch="2.12.0+cu130"))
        for model in ("acme/Marlin-70B", "acme/Tern-8B-NVFP4", "acme/Tern-8B-Draft"):
            node.add_model(model)
    return lab


def started(lab, name):
    """The command that started an engine on a node, as words."""
    found = [
        one.command.words for one in lab.changed() if one.node == name and one.command.words[:2] == ("docker", "run")
    ]
    (words,) = found
    return [str(word) for word in words]


def test_a_pair_gets_ranks_addresses_and_interfaces_of_its_own(ready):
    ready.mark()
    ready.json("deploy", "--recipe", PAIR, "--topology", "cluster")
    for rank, name in enumerate(("node1", "node2")):
        words = started(ready, name)
        line = " ".join(words)
        assert f"--nnodes 2 --node-rank {rank} --master-addr " in line
        assert line.count("--nnodes") == line.count("--master-addr") == 1
        assert "--distributed-executor-backend mp" in line
        variables = {word.partition("=")[0] for at, word in enumerate(words) if words[at - 1] == "-e"}
        assert {"NCCL_SOCKET_IFNAME", "NCCL_IB_HCA", "NCCL_IGNORE_CPU_AFFINITY", "ACME_FAST"} <= variables
        assert not {"HEAD_IP", "NODE_RANK", "MASTER_PORT", "UCX_NET_DEVICES", "HF_TOKEN"} & variables
        assert "<" not in line
        assert "$" not in line
        assert "/home/nvidia/.triton:/root/.triton" in words


def test_a_deploy_warns_of_an_older_driver_than_the_recipe_was_tested_with(ready):
    told = ready.json("deploy", "--recipe", SOLO, "--topology", "solo")
    found = [one["message"] for one in told["rules"] if one["id"] == "tested-stack"]
    assert found == [
        "tested with driver 580.150.01; here is driver 580.95.05, which is older; "
        "tested with Ubuntu 24.04.4 LTS; here is Ubuntu 24.04.3 LTS, which is older"
    ]
    ready.json("deploy", "--recipe", PAIR, "--topology", "cluster")
    assert ready.json("preflight", "--recipe", PAIR, "--only", "tested-stack")["verdict"] == "pass"


def test_the_draft_model_of_a_recipe_is_needed(ready):
    for node in ready.world.nodes.values():
        del node.models["acme/Tern-8B-Draft"]
    refused = ready.cli("plan", "--recipe", SOLO, "--topology", "solo", code=3)
    assert "acme/Tern-8B-Draft" in refused.err
