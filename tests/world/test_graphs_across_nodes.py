"""CUDA graphs across nodes: what the plan tells the entry script, and what a node that saw them hang changes."""

from typing import Any

from support.world import Lab

WORDS = ("--recipe", "qwen3-next-80b-a3b-instruct-fp8", "--topology", "cluster", "--allow", "cluster-eager")
MP, RAY = (*WORDS, "--executor", "mp"), (*WORDS, "--executor", "ray")
MEMORY = "/home/nvidia/.local/state/sparkops/images"


def steps(document: Any, start: str) -> dict[str, str]:
    return {step["node"]: step["command"] for step in document["steps"] if step["command"].startswith(start)}


def digest(lab: Lab) -> str:
    image: str = lab.node("node1").engine.store.find("vllm-node")["Id"]
    return image.removeprefix("sha256:")


def test_what_decides_over_graphs_across_nodes_gets_the_image_and_a_place_to_remember_it(lab: Lab) -> None:
    given = {}
    for topology in ("cluster", "solo"):
        for executor, words in (("mp", MP), ("ray", RAY)):
            for eager in ("true", "false"):
                more = ("--topology", topology, "--set", f"args.enforce-eager={eager}")
                runs = steps(lab.json("plan", *words[:2], *words[4:], *more), "docker run")
                ranks = [f"--graphs {digest(lab)} " in line for line in runs.values()]
                assert [f"-v {MEMORY}:/run/sparkops/images " in line for line in runs.values()] == ranks
                given[topology, executor, eager] = ranks
    assert {key: ranks for key, ranks in given.items() if any(ranks)} == {
        ("cluster", "mp", "false"): [True, True],
        ("cluster", "ray", "false"): [True, False],
    }


def test_what_one_node_remembers_the_others_are_told_and_everybody_says_so(lab: Lab) -> None:
    note = f"{MEMORY}/{digest(lab)}.graphs-hung"
    lab.node("node2").files[note] = "hang in the first replay: no token for 180 s\n"
    document = lab.json("plan", *MP)
    assert steps(document, "@file write /home/nvidia/.local/state/sparkops/images") == {
        "node1": f"@file write {note} 644"
    }
    (finding,) = [one for one in document["rules"] if one["id"] == "graphs-hung"]
    assert (finding["node"], finding["action"]) == ("node2", "warn")
    lab.json("deploy", *MP)
    (shown,) = lab.json("status")["deployments"]
    assert (shown["state"], shown["graphs_hung"]) == ("serving", ["node1", "node2"])
    assert "CUDA graphs hung at the first request, so it runs without them" in lab.cli("status").out
    del lab.node("node1").files[note], lab.node("node2").files[note]
    assert lab.json("status")["deployments"][0]["graphs_hung"] == []


def test_a_deploy_waits_for_the_verdict_on_graphs_only_at_the_head_of_new_containers(lab: Lab) -> None:
    said = "--says 'sparkops: CUDA graphs '"
    for words in (MP, RAY):
        lab.deploy("cluster", *words[:2], *words[4:])
        polls = {(one.node, said in one.shown) for one in lab.received() if one.shown.startswith("@probe")}
        assert polls == {("node1", True), ("node2", False)}
        lab.json("stop")
        lab.mark()
