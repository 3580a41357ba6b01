"""A cluster of vLLM's own ranks (executor mp): it forms whichever rank is late, and again after the loss of any."""

import pytest

RECIPE = ("--recipe", "qwen3-next-80b-a3b-instruct-fp8")
WORDS = ("cluster", *RECIPE, "--executor", "mp", "--set", "args.enforce-eager=true", "--set", "env.SPARKOPS_BACKOFF=1")
MODEL = "Qwen/Qwen3-Next-80B-A3B-Instruct-FP8"
ALL = "sparkops: all 2 ranks are here"


@pytest.fixture
def cluster(empty, until):
    """It serves, and every rank knows it: what ends it from here on is no failed start."""
    empty.deploy(*WORDS)
    assert until(lambda: all("served" in "".join(starts(empty, node)) for node in empty.names))
    return empty


def starts(lab, node):
    """The record of failed starts."""
    return [path.read_text() for path in lab.node(node).glob("docker/containers/*/rootfs/var/lib/sparkops/starts")]


def container(lab, node):
    (name,) = {name for where, name in lab.containers() if where == node}
    return name


def said(lab, node):
    """Our lines in the log of the rank on this node."""
    log = lab.on(node, "docker", "logs", container(lab, node))
    return [line for line in log.splitlines() if line.startswith("sparkops: ")]


def restarts(lab, node):
    return int(lab.on(node, "docker", "inspect", "--format", "{{.RestartCount}}", container(lab, node)))


def engines(lab):
    return [line for line in lab.processes() if "serve Qwen" in line and " entry " not in line]


def loads(lab, node):
    """Whether the engine on this node, if there is one, has begun to load."""
    names = {name for where, name in lab.running() if where == node}
    return any("Starting to load model" in lab.on(node, "docker", "logs", name) for name in names)


def ranks(lab):
    (shown,) = lab.shown()
    return shown["state"], shown["ranks"]


def whole(lab):
    return ranks(lab) == ("serving", {"total": 2, "here": 2, "missing": []}) and lab.serves(model=MODEL)


def failed(lab):
    """The nodes whose logs have one."""
    return [node for node in lab.names if any("failed start" in line for line in said(lab, node))]


@pytest.mark.parametrize("killed", ["node1", "node2"])
def test_a_killed_rank_ends_the_other_at_once_and_both_serve_again(cluster, until, killed):
    lab = cluster
    assert whole(lab)
    lab.fault(killed, "engine-killed")
    (other,) = set(lab.names) - {killed}
    rank = lab.names.index(killed)
    assert until(lambda: any(line.startswith(f"sparkops: rank {rank} at ") for line in said(lab, other)))
    assert until(lambda: said(lab, other).count(ALL) == 2)
    assert until(lambda: whole(lab))
    assert [restarts(lab, node) for node in lab.names] == [1, 1]
    assert other not in failed(lab)


def test_early_ranks_wait_for_a_late_one_start_no_engine_and_status_names_it(cluster, until):
    lab = cluster
    assert len(engines(lab)) == 2
    for node in ("node2", "node1"):
        lab.on(node, "docker", "stop", container(lab, node))
    for early, late in (("node1", "node2"), ("node2", "node1")):
        lab.on(early, "docker", "start", container(lab, early))
        assert until(lambda early=early: "waiting for rank" in said(lab, early)[-1])
        if early == "node1":
            missing = [{"rank": 1, "node": "node2", "reason": "exited"}]
            assert until(lambda missing=missing: ranks(lab)[1] == {"total": 2, "here": 1, "missing": missing})
        assert engines(lab) == []
        lab.on(late, "docker", "start", container(lab, late))
        assert until(lambda: whole(lab))
        for node in (late, early):
            lab.on(node, "docker", "stop", container(lab, node))
    assert failed(lab) == []


def test_a_head_that_starts_again_gets_its_ranks_back(cluster, until):
    lab = cluster
    lab.on("node1", "docker", "restart", container(lab, "node1"))
    assert until(lambda: said(lab, "node2").count(ALL) == 2)
    assert until(lambda: whole(lab))
    assert failed(lab) == []


def test_all_nodes_boot_and_the_ranks_meet_again(cluster, until):
    lab = cluster
    for node in lab.names:
        lab.fault(node, "reboot")
    assert until(lambda: whole(lab))
    assert failed(lab) == []


def test_a_deploy_names_the_node_whose_rank_failed_while_it_loaded(empty, until):
    lab = empty
    for node in lab.names:
        lab.fault(node, "slow")
    deploy = lab.start("deploy", "--topology", *WORDS, "--json")
    lab.brings(deploy, lambda: loads(lab, "node2"))
    lab.fault("node2", "engine-killed")
    error = lab.ended(deploy, 5).document["error"]
    assert (error["node"], error["diagnosis"]["cause"]) == (
        "node2", "sparkops: the engine ended with exit code 137 (failed start 1 of 5)"
    )  # fmt: skip
