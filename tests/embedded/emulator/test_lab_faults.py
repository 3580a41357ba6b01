"""Every fault shows on the node as the trouble that it stands for, and goes away again."""

from __future__ import annotations

import contextlib
import json

import paramiko
import pytest

from sparkops.lab import api
from support import serving


@pytest.fixture
def engine(node, eventually):
    options = ("--restart", "unless-stopped")
    serving.serve(node, serving.STOCK, serving.GPT, *serving.SMALL, options=options)
    eventually(lambda: serving.healthy(node.address))
    return node


def test_every_kind_has_a_line_that_explains_it():
    assert all(text and "\n" not in text for text in api.FAULTS.values())
    wanted = "unreachable lost-after-send bad-host-key no-docker-group cx7-down worker-never-joins crash-while-loading"
    wanted += " engine-killed engine-frozen peer-dead-health-green slow reboot"
    assert set(wanted.split()) <= set(api.FAULTS)


def test_unknown_kinds_and_nodes_are_refused_with_a_hint(lab):
    with pytest.raises(api.LabError, match="no fault is called"):
        lab.fault(1, "bored")
    with pytest.raises(api.LabError, match="no node9") as caught:
        lab.fault(9, "slow")
    assert "node1" in caught.value.hint


def test_status_names_the_faults_that_are_on(lab):
    lab.fault(2, "slow")
    assert [row["faults"] for row in lab.rows()] == [[], ["slow"]]
    lab.fault(2, "slow", off=True)
    assert lab.rows()[1]["faults"] == []


def test_unreachable_cuts_and_refuses_and_the_work_goes_on(lab, node, eventually):
    node.open("cat > /dev/null; sleep 0.1; mkdir ~/left")
    lab.fault(1, "unreachable")
    with pytest.raises(OSError, match=r".*"):
        lab.connect(1)
    lab.fault(1, "unreachable", off=True)
    eventually(lambda: lab.connect(1).run("test -d ~/left").code == 0)


def framed(run, words):
    return f"sh -c 'shift 3; cat >/dev/null; \"$@\"' run 60 0 {run} {words}"


def test_lost_after_send_strikes_the_first_changing_command_once(lab, node, eventually):
    lab.fault(1, "lost-after-send")
    assert node.run(framed("-", "echo read")).out == "read\n"
    assert node.open(framed("run-1", "mkdir left")).recv_exit_status() == -1, "no answer came"
    other = lab.connect(1)
    eventually(lambda: other.run("test -d ~/left").code == 0)
    assert other.run(framed("run-1", "echo again")).out == "again\n"
    assert lab.rows()[0]["faults"] == []


def test_lost_after_send_can_wait_for_a_later_command(lab, node):
    lab.fault(1, "lost-after-send", after=1)
    assert node.run("echo passes").out == "passes\n"
    channel = node.open("echo lost")
    assert channel.recv_exit_status() == -1
    assert len(lab.log(1, "lost")) >= 1


def test_another_host_key_is_another_machine(lab):
    lab.fault(1, "bad-host-key")
    with pytest.raises(paramiko.BadHostKeyException):
        lab.connect(1)
    lab.fault(1, "bad-host-key", off=True)
    assert lab.connect(1).run("true").code == 0


def test_cx7_down_takes_both_twins_and_their_addresses_away(lab, node):
    lab.fault(1, "cx7-down")
    assert "(Up)" not in node.run("ibdev2netdev").out
    links = json.loads(node.run("ip -j addr").out)
    assert all(not link["addr_info"] for link in links if link["ifname"].startswith("enp1"))
    assert node.run('cat "$SPARKOPS_ROOT/sys/class/net/enp1s0f0np0/operstate"').out == "down\n"
    lab.fault(1, "cx7-down", off=True)
    assert node.run("ibdev2netdev").out.count("(Up)") == 2


def test_no_image_and_no_model_empty_the_shelves_for_a_while(lab, node):
    hub = "ls ~/.cache/huggingface/hub"
    lab.fault(1, "no-image")
    lab.fault(1, "no-model")
    assert node.docker("image", "ls", "-q").out == ""
    assert node.run(hub).out == ""
    lab.fault(1, "no-image", off=True)
    lab.fault(1, "no-model", off=True)
    assert len(node.docker("image", "ls", "-q").out.split()) == 3
    assert len(node.run(hub).out.split()) == 2


def test_crash_while_loading_ends_the_engine_amid_the_weights(lab, node, eventually):
    lab.fault(1, "crash-while-loading")
    serving.serve(node, serving.STOCK, serving.GPT, *serving.SMALL)
    eventually(lambda: serving.ended(node) is not None)
    log = serving.log(node)
    assert "died unexpectedly (exit code: -9)" in log
    assert "100% Completed" not in log


def test_a_killed_engine_comes_back_by_its_restart_policy(lab, engine, eventually):
    lab.fault(1, "engine-killed")
    eventually(lambda: engine.docker("inspect", "--format", "{{.RestartCount}}", "e").out == "1\n")
    eventually(lambda: serving.healthy(engine.address))
    assert lab.rows()[0]["faults"] == []


def test_a_frozen_engine_is_silent_until_it_is_thawed(lab, engine, eventually):
    lab.fault(1, "engine-frozen")
    assert serving.ask(engine.address, "/health", timeout=0.5)[0] == 0
    assert engine.docker("inspect", "--format", "{{.State.Status}}", "e").out == "running\n"
    lab.fault(1, "engine-frozen", off=True)
    eventually(lambda: serving.healthy(engine.address))


def test_a_dead_peer_hides_behind_a_green_health(lab, engine):
    lab.fault(1, "peer-dead-health-green")
    assert serving.healthy(engine.address)
    body = {"prompt": "x", "max_tokens": 1}
    assert serving.ask(engine.address, "/v1/completions", body, timeout=0.5)[0] == 0


def test_a_worker_that_never_joins_leaves_the_head_alone(lab, node, eventually):
    other = lab.connect(2)
    fabric = [client.run("hostname -I").out.split()[1] for client in (node, other)]
    lab.fault(2, "worker-never-joins")
    head = ["sh", "-c", f"ray start --head --node-ip-address={fabric[0]} --port=6379 && sleep 600"]
    serving.run(node, "e", serving.STOCK, head)
    join = ["ray", "start", f"--address={fabric[0]}:6379", f"--node-ip-address={fabric[1]}", "--block"]
    serving.run(other, "e", serving.STOCK, join)
    eventually(lambda: "Ray runtime started" in serving.log(node))
    status = f"timeout 60 ray status --address {fabric[0]}:6379"
    assert node.run(f"docker exec e {status}").out.count("\n 1 node_") == 1
    lab.fault(2, "worker-never-joins", off=True)
    eventually(lambda: node.run(f"docker exec e {status}").out.count("\n 1 node_") == 2)


def test_slow_answers_late_but_answers(lab, node):
    lab.fault(1, "slow")
    assert node.run("echo here").out == "here\n"


def test_a_reboot_ends_everything_and_brings_back_what_should_run(lab, engine, eventually):
    boot = 'cat "$SPARKOPS_ROOT/proc/sys/kernel/random/boot_id"'
    before = engine.run(boot).out
    line = 'docker run -d --name %s --restart %s --entrypoint= vllm-node sh -c "sleep 600"'
    engine.run(line % ("plain", "no"))
    engine.run(line % ("stopped", "unless-stopped") + "; docker stop -t 0 stopped")
    engine.open("sleep 7411")
    engine.run('echo x > "$SPARKOPS_ROOT/run/lock/some.lock"')
    lab.fault(1, "reboot")
    with pytest.raises((paramiko.SSHException, EOFError, OSError)):
        engine.run("true")
    again = lab.connect(1)
    assert again.run(boot).out != before
    assert again.run("pgrep -fx 'sleep 7411'; ls \"$SPARKOPS_ROOT/run/lock\"").out == ""
    eventually(lambda: serving.healthy(again.address))
    names = again.run("docker ps --format '{{.Names}}'").out.split()
    assert names == ["e"]


@pytest.mark.parametrize("words", ["reboot", "systemctl reboot", "shutdown -r now", "systemd-run --on-active=0 reboot"])
def test_root_may_reboot_the_node_and_nobody_else(lab, node, eventually, words):
    boot = "sysctl -n kernel.random.boot_id"
    before = node.run(boot).out
    assert node.run(words).code != 0
    node.open(f"sudo {words}")

    def again():
        with contextlib.suppress(paramiko.SSHException, EOFError, OSError):
            return lab.connect(1).run(boot).out not in ("", before)

    eventually(again)
