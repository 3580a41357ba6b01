"""What `status` asks, and what it says of nodes that it cannot ask. `transcripts/status.txt` has what a person sees."""

import json
import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sparkops.testing import BootRule, EngineBoot
from sparkops.testing.node import EPOCH
from sparkops.testing.upkeep import FREE_KIB
from support.world import Lab

CODE = "sparkops: the engine ended with exit code 1 (failed start 1 of 5)"


def test_a_healthy_cluster_is_asked_in_two_waves_over_one_connection_each(lab: Lab) -> None:
    lab.deploy("cluster")
    lab.anew()
    lab.cli("status", code=0)
    assert (lab.world.connections, lab.world.waves) == (2, 2)


def test_a_driver_that_hangs_delays_no_question_and_is_a_warning(lab: Lab) -> None:
    lab.deploy("cluster")
    lab.fault("node1", "gpu-hangs")
    lab.mark()
    (warning,) = lab.json("status")["warnings"]
    assert (warning["id"], warning["node"]) == ("driver", "node1")
    asked = [one.shown for one in lab.received() if one.node == "node1"]
    assert not any("gpu" in line or "nvidia" in line for line in asked if "docker-ps" in line)
    assert "@facts --only gpu-load --patience 3" in asked


def test_docker_that_cannot_be_asked_for_lack_of_a_sudo_password_is_unknown_not_absent(lab: Lab) -> None:
    for name in lab.names:
        lab.node(name).probes["docker-ps"] = (1, "sudo: a password is required")
    ran = lab.cli("status", code=4)
    told = "Docker cannot be asked (sudo needs a password: --ask-become-pass)"
    assert (ran.out, ran.err.splitlines()[0]) == ("", f"error: node1, node2: {told}")


def test_a_restart_is_a_warning_with_the_exit_code_in_the_log_for_a_day(lab: Lab) -> None:
    lab.deploy("solo")
    (engine,) = (one for one in lab.node("node1").engine.listed() if one.running)
    engine.restarts, engine.log = 2, [CODE, "INFO loading"]
    (warning,) = lab.json("status")["warnings"]
    assert warning["id"] == "restarts"
    assert "restarted 2 times; the last exit code was 1" in warning["text"]
    lab.node("node1").probes["clock"] = (0, f"{EPOCH + 2 * 86400}\nsynchronized=yes")
    assert lab.json("status")["warnings"] == []


def test_a_failed_deployment_names_the_node_and_the_cause_in_its_log(lab: Lab) -> None:
    lab.deploy("cluster")
    (worker,) = (one for one in lab.node("node2").engine.listed() if one.running)
    worker.boot, worker.state = EngineBoot(crashes=True), "exited"
    worker.log = ["torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB"]
    (shown,) = lab.json("status", code=5)["deployments"]
    assert shown["cause"] == "node2: the unified memory is used up"
    assert "gpu-memory-utilization" in shown["next"]


def test_a_schedule_that_died_is_a_warning_and_so_is_memory_that_shrinks(lab: Lab) -> None:
    lab.deploy("solo")
    lab.cli("cache", "schedule", "--every", "30m")
    assert lab.json("status")["warnings"] == []
    log = f"{lab.node('node1').state_dir}/cache/log"
    gib = 1024**2
    lab.node("node1").files[log] = "".join(
        f"{EPOCH + 1800 * hour:.0f} cron page cache kept (enough): MemFree 1 -> 1, MemAvailable {left} -> {left}, "
        "Cached 1 -> 1 KiB\n"
        for hour, left in enumerate(range(100 * gib, 40 * gib, -3 * gib))
    )
    lab.node("node1").probes["clock"] = (0, f"{EPOCH + 90_000}\nsynchronized=yes")
    lab.node("node1").probes["boot"] = (0, "boot_id=1\nuptime=100000.00 1.00")
    found = {one["id"]: one["text"] for one in lab.json("status")["warnings"] if one["node"] == "node1"}
    assert "no scheduled run for 16 hours" in found["cache-schedule"]
    assert "free memory shrinks" in found["memory-shrinks"]


def test_a_node_that_is_about_to_freeze_is_a_warning(lab: Lab) -> None:
    lab.deploy("solo", "--limit", "node1")
    lab.node("node1").probes["meminfo"] = (0, "MemTotal: 127535604 kB\nMemFree: 200000 kB\nMemAvailable: 262144 kB")
    (found,) = lab.json("status")["warnings"]
    assert (found["id"], found["node"]) == ("memory-low", "node1")


def test_a_cluster_with_a_long_context_wants_a_schedule_on_each_node(lab: Lab) -> None:
    lab.deploy("cluster", "--set", "args.max-model-len=131072")
    found = [(one["id"], one["node"]) for one in lab.json("status")["warnings"]]
    assert found == [("cache-scheduled", "node1"), ("cache-scheduled", "node2")]
    lab.cli("cache", "schedule", "--every", "30m")
    assert lab.json("status")["warnings"] == []


@pytest.mark.parametrize(("kind", "code", "strict"), [("unreachable", 0, 4), ("gpu-wedged", 0, 5)])
def test_strict_counts_what_does_not_stop_the_service(tmp_path: Path, kind: str, code: int, strict: int) -> None:
    lab = Lab(tmp_path)
    lab.deploy("cluster")
    lab.fault("node2", kind)
    assert [lab.cli("status", *words).code for words in ((), ("--strict",))] == [code, strict]
    quiet = lab.cli("status", "--quiet", "--strict", code=strict)
    assert quiet.out == ""


@pytest.mark.parametrize("role", ["proxy", "server"])
def test_a_container_that_was_stopped_is_the_cause_and_the_next_step_starts_it(lab: Lab, role: str) -> None:
    lab.deploy("2x-solo")
    (name,) = (one for node, one in lab.containers() if node == "node1" and f"-{role}-" in one)
    lab.on("node1", "docker", "stop", name)
    (shown,) = lab.json("status", code=5)["deployments"]
    assert shown["cause"] == f"the {role} on node1 is not running"
    lab.cli(*shlex.split(shown["next"].split("`")[1])[3:], code=0)
    assert lab.state() == {"openai-gpt-oss-120b": "serving"}


def test_a_proxy_that_runs_and_does_not_answer_is_named_if_its_servers_serve(lab: Lab) -> None:
    lab.deploy("2x-solo")
    (proxy,) = (one for one in lab.node("node1").engine.listed() if "-proxy-" in one.name)
    proxy.silent = "health"
    (shown,) = lab.json("status", code=5)["deployments"]
    assert shown["cause"] == "the proxy on node1 does not answer, but the servers behind it do"
    lab.cli(*shlex.split(shown["next"].split("`")[1])[3:], code=0)
    assert lab.state() == {"openai-gpt-oss-120b": "serving"}


@pytest.mark.parametrize("proxy_answers", [True, False])
def test_one_server_that_hangs_is_named_whichever_server_the_proxy_asked(lab: Lab, proxy_answers: bool) -> None:
    lab.deploy("2x-solo")
    (server,) = (one for one in lab.node("node2").engine.listed() if "-server-" in one.name)
    (proxy,) = (one for one in lab.node("node1").engine.listed() if "-proxy-" in one.name)
    server.silent, proxy.silent = "health", "" if proxy_answers else "answer"
    (shown,) = lab.json("status", code=5)["deployments"]
    assert (shown["state"], shown["cause"]) == (
        "degraded", "the server on node2 does not answer, but the other servers do"
    )  # fmt: skip
    proxy.silent = ""
    lab.cli(*shlex.split(shown["next"].split("`")[1])[3:], code=0)
    assert lab.state() == {"openai-gpt-oss-120b": "serving"}


@pytest.mark.parametrize("topology", ["cluster", "2x-solo"])
def test_what_a_silent_node_runs_is_unknown_and_its_error_is_told_once(tmp_path: Path, topology: str) -> None:
    lab = Lab(tmp_path)
    lab.deploy(topology)
    lab.fault("node1", "unreachable")
    ran = lab.cli("status", code=4)
    assert ran.told.count("no answer from the node") == 1
    assert "not listening" not in ran.told
    (shown,) = lab.json("status", code=4)["deployments"]
    assert (shown["reason"], shown["cause"]) == ("", "node1: no answer from the node")


def test_strict_says_why_the_exit_code_is_not_0(lab: Lab) -> None:
    lab.deploy("cluster")
    lab.fault("node2", "gpu-wedged")
    for words in ((), ("--quiet",)):
        ran = lab.cli("status", "--strict", *words, code=5)
        assert ran.err.splitlines()[0] == "exit code 5: warning gpu-clock on node2"
    assert lab.json("status", "--strict", code=5)["reasons"] == [{"exit_code": 5, "text": "warning gpu-clock on node2"}]
    assert lab.json("status")["reasons"] == []
    lab.cli("stop")
    assert "exit code 5: no deployment serves" in lab.cli("status", "--strict", "--quiet", code=5).err
    lab.deploy("2x-solo")
    lab.fault("node2", "peer-dead-health-green")
    told = lab.cli("status", "--strict", "--quiet", code=5).err
    assert "is degraded" in told
    assert "no deployment serves" not in told, "the other copy does"


def test_a_named_deployment_that_serves_does_not_depend_on_other_nodes(lab: Lab) -> None:
    lab.deploy("solo", "--limit", "node1")
    lab.fault("node2", "unreachable")
    lab.cli("status", code=4)
    lab.cli("status", "openai-gpt-oss-120b", code=0)


def test_the_previous_log_is_that_of_the_failed_deploy_even_if_an_older_deployment_was_kept(lab: Lab) -> None:
    for tokens in (2048, 4096):
        lab.deploy("solo", "--set", f"args.max-model-len={tokens}")
    crash = EngineBoot(crashes=True, log=("ERROR Worker proc VllmWorker-0 died unexpectedly (exit code: 1)",))
    lab.node("node1").engine.boots.insert(0, BootRule(lambda _image, words: "7777" in words, crash))
    failed = lab.cli("deploy", "--topology", "solo", "--set", "args.max-model-len=7777", code=5)
    assert "logs --previous`" in failed.err
    for words in ((), ("openai-gpt-oss-120b",)):
        assert "died unexpectedly" in lab.cli("logs", *words, "--previous", code=0).out
    lab.cli("stop")
    assert "died unexpectedly" not in lab.cli("logs", "--previous", code=0).out


def test_a_deploy_that_fails_after_a_node_rebooted_names_the_reboot_and_that_node(tmp_path: Path) -> None:
    lab = Lab(tmp_path)
    for node in lab.world.nodes.values():
        node.engine.boots.insert(0, BootRule(lambda _image, words: "ray-worker" in words, EngineBoot(looks=50)))
    lab.fault("node1", "crash-while-loading")
    lab.meets(12, lambda other: other.fault("node2", "reboot"))
    error = lab.json("deploy", "--topology", "cluster", code=5)["error"]
    assert error["diagnosis"]["id"] == "node-rebooted"
    assert "node2" in {log["node"] for log in error["logs"]}


def test_status_names_the_run_that_changes_the_nodes_now(lab: Lab) -> None:
    seen: list[Any] = []
    lab.meets(8, lambda other: seen.extend((other.json("status", code=None), other.cli("status"))))
    lab.deploy("cluster")
    document, ran = seen
    (run,) = document["under_way"]
    assert (run["verb"], run["state"], run["nodes"]) == ("deploy", "running", ["node1", "node2"])
    assert "changes these nodes now, since " in ran.out
    assert lab.json("status")["under_way"] == []
    assert "changes these nodes now" not in lab.cli("status").out


def test_what_a_run_stopped_that_was_cut_off_is_no_wish_of_the_operator(lab: Lab) -> None:
    lab.deploy("solo", "--limit", "node1")
    at = next(at for at in range(8, 40) if lab.killed(at, "deploy", "--topology", "cluster") and not lab.running())
    assert at
    (why,) = lab.json("status", code=5)["reasons"]
    assert "is stopped since run " in why["text"]
    lab.cli("stop", code=0)
    lab.cli("status", code=0)


def test_a_monitor_of_what_does_not_serve_leaves_no_run_logs(lab: Lab, tmp_path: Path) -> None:
    lab.deploy("solo")
    next(iter(lab.node("node1").engine.listed())).silent = "health"
    kept = set(tmp_path.rglob("*.jsonl"))
    for words in ((), ("--quiet",), ("--strict",), ("--json",)):
        assert "log: " not in lab.cli("status", *words, code=5).err
    assert (len(kept), set(tmp_path.rglob("*.jsonl"))) == (1, kept)


def test_a_worker_that_a_cut_off_run_did_not_start_comes_before_what_its_head_waits_for(lab: Lab) -> None:
    lab.deploy("cluster")
    worker = next(name for node, name in lab.running() if node == "node2")
    lab.on("node2", "docker", "stop", worker)
    lab.on("node2", "docker", "rm", worker)
    (head,) = lab.node("node1").engine.listed()
    head.boot, head.log = EngineBoot(never=True, log=("sparkops: Ray has 1 of 2 nodes",)), []
    (shown,) = lab.json("status", code=5)["deployments"]
    assert shown["cause"] == "the worker on node2 has no container"


def test_the_next_step_names_the_nodes_where_two_deployments_have_one_name(lab_of: Callable[[int], Lab]) -> None:
    lab = lab_of(4)
    for nodes in ("node1,node2", "node3,node4"):
        lab.deploy("2x-solo", "--limit", nodes)
    (server,) = (one for one in lab.node("node4").engine.listed() if "-server-" in one.name)
    server.silent = "health"
    (shown,) = (one for one in lab.json("status", code=5)["deployments"] if one["state"] != "serving")
    before = lab.starts()
    lab.cli(*shlex.split(shown["next"].split("`")[1])[3:], code=0)
    assert {node for (node, name), at in lab.starts().items() if before[node, name] != at} == {"node3", "node4"}


def test_what_a_switch_replaced_is_stopped_though_a_node_of_both_cannot_be_reached(lab: Lab) -> None:
    lab.deploy("cluster")
    lab.deploy("cluster", "--recipe", "qwen3-next-80b-a3b-instruct-fp8")
    lab.world.lose("node2")
    shown = lab.json("status")
    assert {one["name"]: one["state"] for one in shown["deployments"]} == {
        "openai-gpt-oss-120b": "stopped", "qwen3-next-80b-a3b-instruct-fp8": "serving",
    }  # fmt: skip
    assert [one["id"] for one in shown["warnings"]] == ["management"]


def test_what_a_rollback_stopped_is_stopped_though_a_node_of_both_cannot_be_reached(lab: Lab) -> None:
    lab.deploy("cluster")
    lab.deploy("cluster", "--recipe", "qwen3-next-80b-a3b-instruct-fp8")
    lab.json("rollback")
    lab.world.lose("node2")
    states = {one["name"]: one["state"] for one in lab.json("status")["deployments"]}
    assert states["qwen3-next-80b-a3b-instruct-fp8"] == "stopped"
    assert lab.json("status", "qwen3-next-80b-a3b-instruct-fp8")["deployments"][0]["state"] == "stopped"


def test_a_quiet_status_says_nothing_of_variables_that_are_not_for_it(lab: Lab) -> None:
    lab.write_inventory(rack="b2")
    lab.deploy("solo")
    assert "does not use this variable" in lab.cli("status", code=0).err
    told = lab.cli("status", "--quiet", code=0)
    assert (told.out, told.err) == ("", "")


def test_no_exit_code_comes_from_what_is_unknown(lab: Lab) -> None:
    for name in lab.names:
        lab.world.lose(name)
    reasons = lab.json("status", "--strict", code=4)["reasons"]
    assert {one["exit_code"] for one in reasons} == {4}


def test_a_cluster_with_a_node_that_the_inventory_lacks_serves_with_a_warning(lab: Lab) -> None:
    lab.deploy("cluster")
    lab.inventory.write_text(json.dumps({"all": {"hosts": {"node1": {"address": lab.address("node1")}}}}))
    (warning,) = [one for one in lab.json("status")["warnings"] if one["id"] == "inventory"]
    assert "a part is on node2" in warning["text"]
    lab.json("status", "--strict", code=5)


@pytest.mark.parametrize("at", range(14, 40))
def test_a_switch_that_is_killed_is_mended_by_what_status_prints(lab: Lab, at: int) -> None:
    lab.deploy("cluster")
    lab.killed(at, "deploy", "--topology", "2x-solo")
    for _ in range(3):
        found = lab.cli("status", "--json").document["deployments"]
        if any(one["state"] == "serving" for one in found):
            break
        step = next(one["next"] for one in found if one["next"])
        if "logs --follow" in step:
            lab.settle()
        else:
            lab.cli(*shlex.split(step.split("`")[1])[3:], code=0)
    assert any(one["state"] == "serving" for one in lab.json("status")["deployments"])


@pytest.mark.parametrize("at", [9, 10])
@pytest.mark.parametrize("verb", ["rollback", "restart"])
def test_a_start_settles_what_another_verb_left_half_done(lab: Lab, verb: str, at: int) -> None:
    first = str(lab.deploy("cluster")["hash"])
    lab.deploy("solo", "--limit", "node1")
    assert lab.killed(at, verb, *(("--to", first) if verb == "rollback" else ()))
    assert lab.cli("status", "--json").document["cut_off"]
    lab.cli("start", code=0)
    assert lab.json("status")["cut_off"] == []


def test_an_engine_that_was_killed_and_joins_again_is_the_cause_not_that_it_has_not_joined_yet(lab: Lab) -> None:
    lab.deploy("cluster")
    worker = next(one for one in lab.node("node2").engine.listed() if one.running)
    worker.log += [
        "sparkops: the engine ended with exit code 137 after it had served; it starts again",
        "sparkops: joining the Ray head at 198.51.100.1:6379",
    ]
    with lab.trouble("node1", "peer-dead-health-green"):
        (shown,) = lab.json("status", code=5)["deployments"]
    assert shown["cause"].startswith("node2: the engine ended with exit code 137, which means that it was killed")
    assert "wait until the model has loaded" in shown["next"]


def test_containers_that_were_put_aside_do_not_count_as_restarted(lab: Lab) -> None:
    lab.deploy("cluster")
    for node in lab.world.nodes.values():
        old = next(one for one in node.engine.listed() if one.running)
        left = replace(old, name=f"{old.name}.aside", id="f" * 64, restarts=2)
        node.engine.containers[left.name] = left
    assert [one["id"] for one in lab.json("status", code=None)["warnings"]] == []


def test_status_of_some_nodes_warns_of_these_only(lab: Lab) -> None:
    lab.deploy("cluster")
    for name in lab.names:
        lab.node(name).cached_kib = FREE_KIB
    for name in lab.names:
        assert {one["node"] for one in lab.json("status", "--limit", name)["warnings"]} == {name}


@pytest.mark.parametrize("verb", ["stop", "rollback"])
def test_what_is_stopped_since_a_run_without_a_name_was_cut_off_is_no_success(lab: Lab, verb: str) -> None:
    codes = set()
    for at in range(2, 40):
        lab.deploy("solo", "--limit", "node1")
        lab.deploy("2x-solo")
        if not lab.killed(at, verb):
            break
        document = lab.json("status", code=None)
        if document["cut_off"] and not any(one["state"] != "stopped" for one in document["deployments"]):
            codes.add(document["exit_code"])
        lab.cli("stop", "--remove", code=0)
    assert codes == {5}


def test_what_a_finished_rollback_stopped_is_not_held_against_a_later_run(lab: Lab) -> None:
    lab.deploy("solo", "--name", "a", "--limit", "node1")
    lab.deploy("cluster", "--name", "b")
    lab.cli("rollback", code=0)
    words = ("deploy", "--topology", "solo", "--name", "c", "--limit", "node1")
    assert any(lab.killed(at, *words) and lab.state()["a"] == "stopped" for at in range(5, 15))
    reasons = [one["text"] for one in lab.json("status", "--strict", code=5)["reasons"]]
    assert any(text.startswith("a is stopped since") for text in reasons)
    assert not any(text.startswith("b is") for text in reasons)
