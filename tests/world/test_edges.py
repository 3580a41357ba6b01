"""What the verbs do beside the straight way: names, neighbours, notes, keys, silence, newer labels."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from sparkops.errors import Refused, SparkopsError, Unreachable, UsageError
from sparkops.testing import Boot, BootRule, SimulatedWorld, Trouble
from sparkops.testing.operator import Operator
from sparkops.testing.sparks import sparks
from sparkops.workflows.session import Selected

QWEN = "qwen3-next-80b-a3b-instruct-fp8"
GPT = "openai-gpt-oss-120b"
ANOTHER = ("args.max-num-seqs=4",)


def running(world: SimulatedWorld) -> set[tuple[str, str]]:
    """(node, container) of ours."""
    return {
        (name, one.name)
        for name, node in world.nodes.items()
        for one in node.engine.listed(["label=sparkops.schema"])
        if one.state != "exited"
    }


def notes(world: SimulatedWorld) -> list[str]:
    return [path for node in world.nodes.values() for path in node.files if "/orphans/" in path]


def test_a_worker_may_be_silent_for_as_long_as_its_head_loads() -> None:
    world = sparks()
    log = tuple(f"Loading safetensors checkpoint shards: {step}" for step in range(400))
    world.boot(
        BootRule.flag("ray-worker", Boot(looks=1, log=("sparkops: joining the Ray head",))),
        BootRule.flag("ray-head", Boot(looks=400, log=log)),
    )
    Operator(world).deploy("cluster")
    assert Operator(world).status() == {GPT: "serving"}


@pytest.mark.parametrize(("topology", "forgiven"), [("cluster", "4"), ("solo", "1")])
def test_what_is_there_may_be_restarted_under_a_deploy_and_a_new_one_may_not_die(topology: str, forgiven: str) -> None:
    """A peer that was away restarts the ranks, and an engine may just have died: no failure of this deploy."""

    def allowed(plan: Any) -> set[str]:
        probes = [step.do.wait.probe.words for step in plan.steps if step.do.wait]
        return {words[words.index("--restarts") + 1] if "--restarts" in words else "0" for words in probes}

    world = sparks()
    assert allowed(Operator(world).plan(topology)) == {"0"}
    Operator(world).deploy(topology)
    assert allowed(Operator(world).plan(topology)) == {forgiven}


def test_a_container_that_was_noted_as_an_orphan_and_is_wanted_again_is_kept() -> None:
    world = sparks()
    Operator(world).deploy("cluster")
    world.lose("spark2")
    Operator(world).stop()
    back = world.survivors()
    Operator(back).deploy("cluster")
    assert {node for node, _ in running(back)} == {"spark1", "spark2"}
    assert not notes(back)


@pytest.mark.parametrize("at", range(1, 8))
def test_a_note_is_forgotten_only_when_what_it_names_is_gone(at: int) -> None:
    world = sparks()
    Operator(world).deploy("cluster")
    world.lose("spark2")
    Operator(world).stop()
    tried = world.survivors(troubles=[Trouble("lost-unapplied", at)])
    with suppress(SparkopsError):
        Operator(tried).stop()
    assert notes(world) or not running(world)


def test_alongside_others_a_deployment_still_follows_its_own_name() -> None:
    world = sparks()
    Operator(world).deploy("solo")
    Operator(world).deploy("solo", recipe=QWEN, alongside=True)
    Operator(world).deploy("solo", sets=ANOTHER, alongside=True)
    assert Operator(world).status() == {GPT: "serving", QWEN: "serving"}
    assert len(running(world)) == 2


def test_a_failed_restart_for_another_key_leaves_what_served_before_running() -> None:
    world = sparks()
    Operator(world).deploy("cluster")
    had = running(world)
    tries = world.survivors(troubles=[Trouble("interrupt", 9)])
    with pytest.raises(SparkopsError):
        Operator(tries).deploy("cluster", api_key="sk-another")
    assert running(world) == had
    assert Operator(world.survivors()).status() == {GPT: "serving"}


def test_rollback_among_several_deployments_asks_which_one() -> None:
    world = sparks(4)
    Operator(world, "spark1,spark2").deploy("cluster")
    Operator(world, "spark1,spark2").deploy("cluster", sets=ANOTHER)
    Operator(world, "spark3,spark4").deploy("cluster", recipe=QWEN)
    with pytest.raises(UsageError, match="several deployments"):
        Operator(world).rollback()
    Operator(world, "spark1,spark2").rollback()
    assert Operator(world).status() == {GPT: "serving", QWEN: "serving"}


def test_a_run_on_some_nodes_leaves_the_locks_of_the_others_alone() -> None:
    world = sparks(4)
    Operator(world, "spark1,spark2").deploy("cluster")
    world.nodes["spark4"].lock = "somebody else's"
    Operator(world, "spark1,spark2").rotate()
    Operator(world, "spark1,spark2").stop()
    assert not running(world)


def test_stopping_a_name_on_a_node_that_does_not_answer_is_not_a_wrong_name() -> None:
    world = sparks()
    Operator(world).deploy("solo")
    world.lose("spark1")
    with pytest.raises(Unreachable):
        Operator(world).stop(GPT)


@pytest.mark.parametrize("readable", [True, False])
def test_what_a_newer_sparkops_made_is_never_changed(readable: bool) -> None:
    world = sparks()
    Operator(world).deploy("solo")
    for one in world.nodes["spark1"].engine.containers.values():
        newer = one.labels["sparkops.revision"].replace('"schema":1', '"schema":2')
        one.labels |= {"sparkops.schema": "2", "sparkops.revision": newer if readable else "another form"}
    had = running(world)
    for verb in (Operator.stop, Operator.rotate, lambda person: person.deploy("solo", recipe=QWEN)):
        with pytest.raises(Refused, match="newer sparkops"):
            verb(Operator(world))
    assert running(world) == had


def test_a_rotated_key_is_in_force_and_an_interrupted_rotation_leaves_the_old_one() -> None:
    world = sparks()
    Operator(world).deploy("2x-solo")
    old, had = Operator(world).key(), running(world)
    for at in range(1, 25):
        tried = world.survivors(troubles=[Trouble("interrupt", at)])
        try:
            Operator(tried).rotate()
        except (SparkopsError, KeyboardInterrupt):
            assert Operator(world.survivors()).key() == old, at
        assert running(world) == had, at
        old = Operator(world.survivors()).key()
    new = Operator(world).rotate().document["key"]
    assert Operator(world).key() == new != old


def test_the_key_of_a_stopped_deployment_can_be_rotated() -> None:
    world = sparks()
    Operator(world).deploy("solo")
    Operator(world).deploy("solo", recipe=QWEN)
    Operator(world).stop()
    assert Operator(world).rotate(GPT).document["rotated"]


def test_logs_tell_of_every_container_of_a_node() -> None:
    world = sparks()
    Operator(world).deploy("2x-solo")
    told = {(entry["node"], entry["container"]) for entry in Operator(world).logs().document["logs"]}
    assert told == running(world)


def on_nodes(world: SimulatedWorld, **values: str) -> Operator:
    """A person whose inventory says this of the first node."""
    person = Operator(world)
    nodes = (replace(person.chosen.nodes[0], **values), *person.chosen.nodes[1:])  # type: ignore[arg-type]
    person.chosen = Selected(replace(person.chosen.inventory, nodes=nodes), nodes, None)
    return person


def test_a_fabric_address_on_plain_ethernet_is_no_silent_fall_to_it() -> None:
    world = sparks()
    person = on_nodes(world, fabric_address=world.nodes["spark1"].address)
    with pytest.raises(Refused, match="cx7-usable"):
        person.deploy("cluster")
    person.deploy("cluster", allow=frozenset({"cx7-usable"}))


def test_a_cache_below_the_home_is_mounted_by_its_whole_path() -> None:
    world = sparks()
    plan = on_nodes(world, cache_dir="~/models").plan("solo")
    words = [word for step in plan.steps if step.do.command for word in step.do.command.words]
    assert "/home/nvidia/models:/root/.cache/huggingface" in words
    assert not [word for word in words if str(word).startswith("~")]


def test_memory_comes_back_before_anything_is_started_again() -> None:
    world = sparks()
    Operator(world).deploy("solo")
    Operator(world).deploy("solo", recipe=QWEN)
    world.boot(BootRule.flag("--max-num-seqs", Boot(crashes=True)))
    for verb in (Operator.rollback, Operator.rotate, lambda person: person.deploy("solo", sets=ANOTHER)):
        tried = world.survivors()
        with suppress(SparkopsError):
            verb(Operator(tried))
        done = [" ".join(str(getattr(word, "name", word)) for word in sent.command.words[:2]) for sent in tried.sent]
        starts = [at for at, what in enumerate(done) if what in ("container start", "docker run")]
        assert starts
        for at in starts:
            told = [what for what in done[:at] if what in ("container stop", "container remove") or "memory" in what]
            assert told[-1].startswith("memory "), done


def test_logs_of_a_deployment_with_a_node_away_tell_that_they_are_not_all() -> None:
    world = sparks()
    Operator(world).deploy("cluster")
    world.lose("spark2")
    answer = Operator(world).logs()
    assert [entry["node"] for entry in answer.document["logs"]] == ["spark1"]
    assert answer.code == 4


def test_a_model_that_is_a_directory_of_the_nodes_is_mounted_as_it_is_and_looked_for() -> None:
    world = sparks()
    asked: dict[str, Any] = {"sets": ("model=/data/models/mine",), "allow": frozenset({"unknown-flag"})}
    with pytest.raises(Refused, match=r"(?s)spark1.*/data/models/mine is not there"):
        Operator(world).plan("2x-solo", **asked)
    for node in world.nodes.values():
        node.add_model("/data/models/mine")
    plan = Operator(world).plan("2x-solo", **asked)
    words = [[str(word) for word in step.do.command.words] for step in plan.steps if step.do.command]
    runs = [line for line in words if line[:2] == ["docker", "run"] and "server" in line]
    assert [line.count("/data/models/mine:/data/models/mine:ro") for line in runs] == [1, 1]
    assert not any("--revision" in line for line in runs)
    assert not any("/data/models/mine" in line for line in words if "dirs" in line)


def test_a_model_below_a_mount_of_the_recipe_is_its_matter() -> None:
    world = sparks()
    plan = Operator(world).plan("solo", sets=("model=/root/.cache/huggingface/mine",))
    words = [word for step in plan.steps if step.do.command for word in map(str, step.do.command.words)]
    assert not [word for word in words if word.startswith("/root/.cache/huggingface/mine:")]


def test_another_model_by_set_has_neither_the_revision_nor_the_size_of_the_recipes() -> None:
    with pytest.raises(Refused) as refused:
        Operator(sparks()).plan("solo", sets=("model=some/where-else",))
    assert "some/where-else" in str(refused.value.hint)
    assert "GiB" not in str(refused.value.hint)
