"""Faults as a client on the node sees them; what the tool makes of the others: tests/embedded/test_faults*.py."""

import contextlib

import paramiko
import pytest

from sparklab import api
from support import serving

BOOT = "sysctl -n kernel.random.boot_id"


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


def test_a_reboot_ends_everything_and_brings_back_what_should_run(lab, node, eventually):
    serving.serve(node, serving.STOCK, serving.GPT, *serving.SMALL, options=("--restart", "unless-stopped"))
    eventually(lambda: serving.healthy(node.address))
    before = node.run(BOOT).out
    line = 'docker run -d --name %s --restart %s --entrypoint= vllm-node sh -c "sleep 600"'
    node.run(line % ("plain", "no"))
    node.run(line % ("stopped", "unless-stopped") + "; docker stop -t 0 stopped")
    node.open("sleep 7411")
    node.run('echo x > "$SPARKOPS_ROOT/run/lock/some.lock"')
    lab.fault(1, "reboot")
    with pytest.raises((paramiko.SSHException, EOFError, OSError)):
        node.run("true")
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
