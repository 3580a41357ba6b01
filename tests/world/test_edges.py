"""What the verbs do beside the straight way, at every send or in an order that no transcript shows."""

import pytest

from sparkops.testing import BootRule, EngineBoot, Trouble
from support.world import Lab

QWEN = "qwen3-next-80b-a3b-instruct-fp8"
GPT = "openai-gpt-oss-120b"
ANOTHER = ("--set", "args.max-num-seqs=4")


def test_a_worker_may_be_silent_for_as_long_as_its_head_loads(lab: Lab) -> None:
    log = tuple(f"Loading safetensors checkpoint shards: {step}" for step in range(400))
    lab.world.boot(
        BootRule.flag("ray-worker", EngineBoot(looks=1, log=("sparkops: joining the Ray head",))),
        BootRule.flag("ray-head", EngineBoot(looks=400, log=log)),
    )
    lab.deploy("cluster")
    assert lab.state() == {GPT: "serving"}


@pytest.mark.parametrize("at", range(1, 8))
def test_a_note_is_forgotten_only_when_what_it_names_is_gone(lab: Lab, at: int) -> None:
    lab.deploy("cluster")
    lab.world.lose("node2")
    lab.cli("stop", code=4)
    lab.anew(troubles=[Trouble("lost-unapplied", at)])
    lab.cli("stop")
    notes = [path for node in lab.world.nodes.values() for path in node.files if "/orphans/" in path]
    assert notes or not lab.running()


def test_memory_comes_back_before_anything_is_started_again(lab: Lab) -> None:
    lab.deploy("solo")
    lab.deploy("solo", "--recipe", QWEN)
    lab.world.boot(BootRule.flag("--max-num-seqs", EngineBoot(crashes=True)))
    for words in (("rollback",), ("key", "rotate"), ("deploy", "--topology", "solo", *ANOTHER)):
        lab.mark()
        lab.cli(*words)
        done = [" ".join(one.shown.split()[:2]) for one in lab.received()]
        starts = [at for at, what in enumerate(done) if what in ("@container start", "docker run")]
        assert starts
        for at in starts:
            told = [what for what in done[:at] if what.startswith(("@container stop", "@container remove", "@memory"))]
            assert told[-1].startswith("@memory "), done


@pytest.mark.parametrize("at", range(2, 40))
def test_a_refresh_that_is_killed_anywhere_is_mended_by_the_next_deploy_or_ended_by_a_stop(lab: Lab, at: int) -> None:
    lab.deploy("2x-solo")
    for node in lab.world.nodes.values():
        for one in node.engine.listed():
            one.labels["sparkops.spec"] = "0"
    kind = "crash-before" if at % 2 else "crash-after"
    lab.killed(at, "deploy", "--topology", "2x-solo", "--refresh", kind=kind, seed=at)
    if at % 3:
        lab.deploy("2x-solo")
        assert (lab.state(), len(lab.containers())) == ({GPT: "serving"}, 3)
    else:
        lab.cli("stop", code=0)
        assert lab.running() == set()
        lab.cli("stop", "--remove", code=0)
        assert lab.containers() == set()


def test_whatever_ends_an_engine_gives_its_requests_the_time_of_the_recipe(lab: Lab) -> None:
    slow = ("solo", "--set", "args.shutdown-timeout=60")

    def waits(*words: object) -> dict[str, str]:
        lab.mark()
        lab.cli(*words, code=0)
        acts = [one.command for one in lab.changed() if one.shown.startswith("@container ")]
        return {str(one.words[1]): str(one.words[-1]) for one in acts if one.timeout > 120}

    lab.deploy(*slow)
    assert waits("stop") == {"stop": "90"}
    lab.cli("start", code=0)
    assert waits("restart") == {"stop": "90"}
    (engine,) = lab.node("node1").engine.listed()
    engine.labels["sparkops.spec"] = "0"
    assert waits("deploy", "--topology", *slow, "--refresh") == {"stop": "90"}
    assert waits("stop", "--remove") == {"remove": "90"}
