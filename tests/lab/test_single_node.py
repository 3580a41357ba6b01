"""One node under the stand-in engine: what is left alone, replaced, undone, given up, and told in trouble."""

import contextlib
from collections.abc import Iterator
from typing import Any

from support import docker_forms
from support.person import Ran

SOLO = ("solo", "--limit", "node1", "--set", "env.LAB_ENGINE=standin")
LONGER = ("--set", "args.max-model-len=8192")
SLOW = ("--set", "env.LAB_LOAD_SECONDS=10")
BROKEN = ("--set", "args.gpu-memory-utilization=0.96", "--allow", "mxfp4-memory")
GPT = "openai-gpt-oss-120b"


def length(lab: Any) -> str:
    """What the engine that runs was given."""
    words = lab.argv("node1", "server")
    return str(words[words.index("--max-model-len") + 1])


def test_every_docker_command_of_sparkops_comes_back_as_the_table_says(lab):
    lab.clear()

    def docker(*words: str) -> Ran:
        done = lab.ran_on("node1", "docker", *words, user="spark")
        return Ran(done.returncode, done.stdout, done.stderr)

    assert docker_forms.play(docker) == []


def test_solo_serves_with_the_recipes_command_line_and_is_left_alone_by_the_next_deploy(lab):
    lab.clear()
    assert lab.deploy(*SOLO)["changed"]
    assert lab.roles() == [("node1", "server")]
    words = lab.argv("node1", "server")
    assert words[:3] == ["vllm", "serve", "openai/gpt-oss-120b"]
    assert {"--mxfp4-backend", "--mxfp4-layers", "--enforce-eager"} <= set(words)
    assert lab.ask().tokens == 4
    assert lab.ask(key="sk-wrong").code == 401
    state = lab.on("node1", "docker", "inspect", lab.one("node1", "server"))
    assert lab.key() not in state, "the key is in no argument, label or environment of a container"
    before, loads = lab.everywhere(running=False), lab.loads("node1", "server")
    again = lab.deploy(*SOLO)
    assert (again["changed"], again["changes"]) == (False, [])
    assert (lab.everywhere(running=False), lab.loads("node1", "server")) == (before, loads)


def test_a_changed_flag_replaces_the_server_a_broken_one_is_undone_and_rollback_brings_the_old_one_back(lab):
    lab.deploy(*SOLO)
    old = lab.containers("node1")
    shown = lab.deploy(*SOLO, *LONGER)
    assert [line for line in shown["changes"] if "max-model-len" in line]
    assert length(lab) == "8192"
    assert old.items() <= lab.containers("node1", running=False).items(), "the previous one is kept"
    longer = lab.everywhere()
    error = lab.deploy(*SOLO, *BROKEN, code=5)["error"]
    assert error["node"] == "node1"
    assert "gpu memory utilization" in str(error).lower(), "the cause is told, not only that the engine ended"
    assert lab.everywhere() == longer
    assert lab.ask().tokens == 4
    lab.json("rollback")
    assert lab.containers("node1") == old
    assert length(lab) == "4096"
    assert lab.ask().tokens == 4


def test_a_frozen_engine_is_not_called_serving(lab, eventually):
    lab.deploy(*SOLO)
    with lab.trouble("node1", "engine-frozen"):
        shown, ran = lab.going()
        assert shown["state"] in ("degraded", "failed")
        assert ran.code == 5
    assert eventually(lab.serves)
    assert eventually(lab.serving)


def started(lab: Any, name: str) -> str:
    """When a container was started last; nothing while its Docker does not answer."""
    return str(lab.ran_on("node1", "docker", "inspect", "--format", "{{.State.StartedAt}}", name).stdout.strip())


def test_the_server_outlives_a_restart_of_the_docker_daemon(lab, eventually):
    lab.deploy(*SOLO)
    before = lab.containers("node1")
    (name,) = before
    earlier = started(lab, name)
    lab.fault("node1", "docker-restart")
    assert eventually(lambda: started(lab, name) not in ("", earlier) and lab.serves())
    assert lab.containers("node1") == before


@contextlib.contextmanager
def without_models(lab: Any) -> Iterator[None]:
    """An engine that starts ends at once."""
    hub = "/home/spark/.cache/huggingface/hub"
    lab.on("node1", "mv", hub, f"{hub}.away")
    try:
        yield
    finally:
        lab.on("node1", "sh", "-c", f"rm -rf {hub}; mv {hub}.away {hub}")


def test_an_engine_that_cannot_start_any_more_gives_up_and_the_next_deploy_begins_anew(lab, eventually):
    lab.clear()
    quick = (*SOLO, "--set", "env.SPARKOPS_BACKOFF=1")
    lab.deploy(*quick)
    name = lab.one("node1", "server")
    restarts = "{{.RestartCount}} {{.State.Status}}"
    starts = ("docker", "exec", name, "cat", "/var/lib/sparkops/starts")
    assert eventually(lambda: "served" in lab.ran_on("node1", *starts).stdout), "its end is no failed start then"
    with without_models(lab):
        lab.fault("node1", "engine-killed")
        last = ("docker", "logs", "--tail", "1", name)
        assert eventually(lambda: "gave up after 5" in lab.ran_on("node1", *last).stdout)
        ended = lab.on("node1", "docker", "inspect", "--format", restarts, name)
        assert ended == "6 running", "after the one that had served five more, and then no more"
        shown, ran = lab.going()
        assert (shown["state"], shown["nodes"][0]["state"], ran.code) == ("failed", "failed (gave up)", 5)
        assert lab.on("node1", "docker", "inspect", "--format", restarts, name) == ended
    assert lab.deploy(*quick)["changed"]
    assert lab.ask().tokens == 4


def test_with_a_full_disk_status_logs_and_stop_still_work(lab, eventually):
    lab.clear()
    lab.deploy(*SOLO)
    with lab.trouble("node1", "disk-full"):
        more = "head -c 1000000 /dev/zero >/home/spark/more"
        assert lab.ran_on("node1", "sh", "-c", more, user="spark").returncode
        assert eventually(lab.serving)
        assert "vllm-front" in lab.json("logs")["logs"][0]["text"]
        server = lab.one("node1", "server")
        assert lab.json("stop")["stopped"]
        # Docker cannot write down that it ended: `docker ps` still calls it running, `docker inspect` does not.
        assert lab.on("node1", "docker", "inspect", "--format", "{{.State.Running}}", server).strip() == "false"
        assert not lab.serves()


def test_a_deploy_killed_while_the_weights_load_is_taken_up_by_the_next_one(lab, eventually):
    lab.clear()
    process = lab.start("deploy", "--topology", *SOLO, *SLOW)
    assert eventually(lambda: "Completed" in lab.ran_on("node1", "sh", "-c", "docker logs $(docker ps -q) 2>&1").stdout)
    lab.killed(process)
    begun = lab.containers("node1")
    assert lab.deploy(*SOLO, *SLOW)["ok"]
    assert lab.containers("node1") == begun, "the load went on and was not begun anew"
    assert lab.loads("node1", "server") == 1
    assert lab.ask().tokens == 4


def test_a_switch_killed_on_its_way_is_mended_by_the_next_deploy(lab, eventually):
    lab.clear()
    lab.deploy(*SOLO)
    old = lab.containers("node1")
    process = lab.start("deploy", "--topology", *SOLO, *SLOW, *LONGER)
    assert eventually(lambda: lab.containers("node1").keys() - old.keys())
    lab.killed(process)
    assert not old.items() & lab.containers("node1").items(), "the old one had been stopped by then"
    lab.deploy(*SOLO)
    assert lab.containers("node1") == old
    assert lab.ask().tokens == 4
