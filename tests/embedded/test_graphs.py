"""CUDA graphs that hang across nodes: noticed at the first request, switched off on all ranks, and remembered."""

RECIPE = "qwen3-next-80b-a3b-instruct-fp8"
SOON = ("--set", "env.SPARKOPS_GRAPHS_SECONDS=3", "--set", "env.SPARKOPS_BACKOFF=1")
HANG = "sparkops: CUDA graphs hang in the first replay"
OFF = "sparkops: CUDA graphs are switched off: the engine starts again without them (--enforce-eager)"
BEFORE = "sparkops: CUDA graphs hung with this image before: the engine starts without them (--enforce-eager)"


def with_graphs(lab, executor, *more):
    words = ("cluster", "--recipe", RECIPE, "--executor", executor, "--allow", "cluster-eager", *SOON, *more)
    return lab.deploy(*words)


def verdicts(lab, node):
    """What the entry script on a node said about CUDA graphs since its container was made."""
    (name,) = [name for where, name in lab.running() if where == node]
    return [
        line for line in lab.on(node, "docker", "logs", name).splitlines() if line.startswith("sparkops: CUDA graphs")
    ]


def hung(lab):
    (shown,) = lab.shown()
    return shown["state"], shown["graphs_hung"]


def test_ranks_of_mp_fall_back_together_and_begin_without_graphs_from_then_on(empty, until):
    lab = empty
    lab.fault("node1", "graphs-hang")
    assert with_graphs(lab, "mp")["ok"]
    assert verdicts(lab, "node1") == [f"{HANG}: no token for 3 s", OFF]
    assert verdicts(lab, "node2") == [f"{HANG}, as the head says", OFF]
    assert hung(lab) == ("serving", ["node1", "node2"])
    assert "CUDA graphs hung at the first request" in lab.cli("status").out
    assert with_graphs(lab, "mp")["changed"] is False
    assert with_graphs(lab, "mp", "--set", "args.max-num-seqs=8")["ok"]
    assert [verdicts(lab, node) for node in lab.names] == [[BEFORE], [BEFORE]]
    lab.fault("node1", "reboot")
    assert until(lambda: verdicts(lab, "node1") == [BEFORE, BEFORE])
    assert until(lambda: hung(lab)[0] == "serving")


def test_with_ray_the_head_falls_back_and_the_next_deploy_tells_the_other_nodes(empty):
    lab = empty
    lab.fault("node1", "graphs-hang")
    assert with_graphs(lab, "ray")["ok"]
    assert verdicts(lab, "node1") == [f"{HANG}: no token for 3 s", OFF]
    assert hung(lab) == ("serving", ["node1"])
    lab.fault("node1", "graphs-hang", off=True)
    assert with_graphs(lab, "mp")["ok"]
    assert [verdicts(lab, node) for node in lab.names] == [[BEFORE], [BEFORE]]
    assert hung(lab) == ("serving", ["node1", "node2"])


def test_graphs_that_work_stay_on(empty):
    lab = empty
    assert with_graphs(lab, "mp")["ok"]
    assert verdicts(lab, "node1") == ["sparkops: CUDA graphs work"]
    assert hung(lab) == ("serving", [])
