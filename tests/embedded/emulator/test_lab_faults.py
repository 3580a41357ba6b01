"""Every fault shows on the node as the trouble that it stands for, and goes away again."""

from __future__ import annotations

import contextlib

import paramiko
import pytest

from sparkops.lab import api
from support import serving

BOOT = "sysctl -n kernel.random.boot_id"


@pytest.fixture
def engine(node, eventually):
    options = ("--restart", "unless-stopped")
    serving.serve(node, serving.STOCK, serving.GPT, *serving.SMALL, options=options)
    eventually(lambda: serving.healthy(node.address))
    return node


def test_a_slow_node_answers_is_named_by_status_and_no_unknown_fault_or_node_is(lab):
    lab.fault(2, "slow")
    assert [row["faults"] for row in lab.rows()] == [[], ["slow"]]
    assert lab.connect(2).run("echo here").out == "here\n"
    lab.fault(2, "slow", off=True)
    assert lab.rows()[1]["faults"] == []
    with pytest.raises(api.LabError, match="no fault is called"):
        lab.fault(1, "bored")
    with pytest.raises(api.LabError, match="no node9") as caught:
        lab.fault(9, "slow")
    assert "node1" in caught.value.hint


def test_unreachable_cuts_and_refuses_and_the_work_goes_on(lab, node, eventually):
    node.open("cat > /dev/null; sleep 0.1; mkdir ~/left")
    lab.fault(1, "unreachable")
    with pytest.raises(OSError, match=r".*"):
        lab.connect(1)
    lab.fault(1, "unreachable", off=True)
    eventually(lambda: lab.connect(1).run("test -d ~/left").code == 0)


def framed(run, words):
    return f"sh -c 'shift 3; cat >/dev/null; \"$@\"' run 60 0 {run} {words}"


def test_lost_after_send_strikes_one_changing_command_and_can_wait_for_it(lab, node, eventually):
    lab.fault(1, "lost-after-send")
    assert node.run(framed("-", "echo read")).out == "read\n"
    assert node.open(framed("run-1", "mkdir left")).recv_exit_status() == -1, "no answer came"
    other = lab.connect(1)
    eventually(lambda: other.run("test -d ~/left").code == 0)
    assert other.run(framed("run-1", "echo again")).out == "again\n"
    assert lab.rows()[0]["faults"] == []
    lab.fault(1, "lost-after-send", after=1)
    assert other.run("echo passes").out == "passes\n"
    assert other.open("echo lost").recv_exit_status() == -1
    assert [entry["line"] for entry in lab.log(1, "lost")][-1] == "echo lost"


def test_another_host_key_is_another_machine(lab):
    lab.fault(1, "bad-host-key")
    with pytest.raises(paramiko.BadHostKeyException):
        lab.connect(1)
    lab.fault(1, "bad-host-key", off=True)
    assert lab.connect(1).run("true").code == 0


def test_crash_while_loading_ends_the_engine_amid_the_weights(lab, node, eventually):
    lab.fault(1, "crash-while-loading")
    serving.serve(node, serving.STOCK, serving.GPT, *serving.SMALL)
    eventually(lambda: serving.ended(node) is not None)
    assert serving.ended(node) == 1
    log = serving.log(node)
    assert "died unexpectedly (exit code: -9)" in log
    assert "100% Completed" not in log


def test_an_engine_can_be_frozen_hang_with_a_dead_peer_and_be_killed(lab, engine, eventually):
    body = {"prompt": "x", "max_tokens": 1}
    lab.fault(1, "engine-frozen")
    assert serving.ask(engine.address, "/health", timeout=0.5)[0] == 0
    assert engine.docker("inspect", "--format", "{{.State.Status}}", "e").out == "running\n"
    lab.fault(1, "engine-frozen", off=True)
    eventually(lambda: serving.healthy(engine.address))
    lab.fault(1, "peer-dead-health-green")
    assert serving.healthy(engine.address)
    assert serving.ask(engine.address, "/v1/completions", body, timeout=0.5)[0] == 0
    lab.fault(1, "peer-dead-health-green", off=True)
    assert serving.ask(engine.address, "/v1/completions", body)[0] == 200
    lab.fault(1, "engine-killed")
    eventually(lambda: engine.docker("inspect", "--format", "{{.RestartCount}}", "e").out == "1\n")
    eventually(lambda: serving.healthy(engine.address))
    assert lab.rows()[0]["faults"] == []


def test_a_reboot_ends_everything_and_brings_back_what_should_run(lab, engine, eventually):
    before = engine.run(BOOT).out
    line = 'docker run -d --name %s --restart %s --entrypoint= vllm-node sh -c "sleep 600"'
    engine.run(line % ("plain", "no"))
    engine.run(line % ("stopped", "unless-stopped") + "; docker stop -t 0 stopped")
    engine.open("sleep 7411")
    engine.run('echo x > "$SPARKOPS_ROOT/run/lock/some.lock"')
    lab.fault(1, "reboot")
    with pytest.raises((paramiko.SSHException, EOFError, OSError)):
        engine.run("true")
    again = lab.connect(1)
    assert again.run(BOOT).out != before
    assert again.run("pgrep -fx 'sleep 7411'; ls \"$SPARKOPS_ROOT/run/lock\"").out == ""
    eventually(lambda: serving.healthy(again.address))
    names = again.run("docker ps --format '{{.Names}}'").out.split()
    assert names == ["e"]


def test_root_may_reboot_the_node_now_and_a_little_later(lab, eventually):
    for words in ("systemctl reboot", "shutdown -r now", "systemd-run --on-active=0 reboot"):
        client = lab.connect(1)
        before = client.run(BOOT).out
        client.open(f"sudo {words}")
        eventually(lambda before=before: boot(lab) not in ("", before))


def boot(lab):
    """The node's boot, or nothing while it is down."""
    with contextlib.suppress(paramiko.SSHException, EOFError, OSError):
        return lab.connect(1).run(BOOT).out
    return ""
