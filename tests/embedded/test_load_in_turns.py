"""After a power loss all engines of a node start at once; they load one after the other."""

SMALL = ("--limit", "node1", "--set", "args.gpu-memory-utilization=0.4", "--allow", "memory-fits", "--alongside")
RECIPE = ("--recipe", "nemotron-3-nano-nvfp4", "--setup")
WAITS = "waiting for another engine of this node to load"


def test_engines_of_one_node_load_in_turns_and_all_serve_again(lab_with, until):
    lab = lab_with(nodes=2, speed=20)
    for name in ("a", "b"):
        lab.deploy("solo", "--name", name, *SMALL, *RECIPE)
    logs = [lab.on("node1", "docker", "logs", name) for _, name in lab.running()]
    assert not any(WAITS in text for text in logs), "each was deployed when the other one served"
    before = lab.starts()
    lab.fault("node1", "reboot")
    assert until(lambda: lab.starts().keys() == before.keys() and not lab.starts().items() & before.items())
    assert until(lambda: lab.state() == {"a": "serving", "b": "serving"})
    since = [lab.on("node1", "docker", "logs", name) for _, name in sorted(lab.running())]
    assert sum(WAITS in text for text in since) == 1
    assert not any("failed start" in text for text in since)
