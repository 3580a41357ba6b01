"""Commands over real SSH, on a server that executes them in real shells."""

import json
import os
import shutil
import signal
import socket
import threading
from dataclasses import replace

import pytest

from sparkops.core.plan import Action, Command, NodeLost, Phase, Plan, Script, Secret, Step
from sparkops.errors import Locked, Unreachable
from sparkops.remote.execute import execute
from sparkops.remote.fleet import Fleet
from sparkops.remote.gather import connect, gather
from sparkops.remote.lock import Owner
from support.shells import ENDS_WHAT_SAID_IT_ALL, alive, until

AWKWARD = ("a b", "it's", "$HOME", "x;y", "", '{"a": "b c"}', "é\n", "--")


def owner(run):
    return Owner(run, "me", "desk", 1, "2026-01-01T00:00:00+00:00")


@pytest.fixture
def fleet(node, options):
    with Fleet([node], options) as fleet:
        yield fleet


def cancel_when(holds, cancel):
    """Sets it from another thread, as an interrupt does."""
    threading.Thread(target=lambda: until(holds) and cancel.set()).start()


def tool(server, name, text):
    """A program of this node, first on its PATH."""
    path = server.home / "bin" / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def send(fleet, *words, cancel=None, **options):
    return fleet.send("spark1", Command(words, **{"reads": True, **options}), cancel or fleet.cancel())


def test_commands_go_over_one_connection_and_how_each_ends_is_a_value(fleet, server):
    told = "".join(f"<{word}>" for word in AWKWARD)
    assert send(fleet, "sh", "-c", 'printf "<%s>" "$@"', "sh", *AWKWARD).stdout == told
    assert send(fleet, Script("facts"), "--only", "uname").stdout.startswith("sparkops-facts 1\n")
    assert send(fleet, "printf", r"a\377b").stdout == "a\ufffdb"
    ended = send(fleet, "sh", "-c", "echo out; echo bad >&2; exit 3")
    assert (ended.ended, ended.code, ended.stdout, ended.stderr) == ("exited", 3, "out\n", "bad\n")
    tool(server, "timeout", ENDS_WHAT_SAID_IT_ALL)
    late = send(fleet, "sh", "-c", 'echo bad >&2; : >"$HOME/said"; exec sleep 60', timeout=0.5)
    assert (late.ended, late.code, late.stderr) == ("timeout", 124, "bad\n"), "the marker is taken off"
    assert (fleet.connections, server.logins, fleet.commands) == (1, 1, 5)


def test_big_outputs_on_both_streams_and_a_big_input_do_not_block_each_other(fleet):
    script = "cat; head -c 3000000 /dev/zero >&2; head -c 3000000 /dev/zero"
    result = send(fleet, "sh", "-c", script, stdin="x" * 3_000_000)
    assert (len(result.stdout), len(result.stderr)) == (6_000_000, 3_000_000)
    flood = send(fleet, "sh", "-c", "echo first; head -c 20000000 /dev/zero; echo last").stdout
    assert (len(flood) < 17_000_000, flood[:6], flood[-5:]) == (True, "first\n", "last\n")


def test_all_nodes_work_at_the_same_time_and_one_that_is_away_is_a_value(make_server, options, nodes_of, tmp_path):
    there, away = make_server(), make_server()
    away.down()
    names = [f"n{at}" for at in range(16)]
    meet = f"touch {tmp_path}/met-$1; until [ $(ls {tmp_path}/met-* | wc -l) = 16 ]; do sleep 0.1; done; echo $1"
    commands = {name: Command(("sh", "-c", meet, "meet", name), reads=True) for name in (*names, "away")}
    with Fleet([*(nodes_of(there, name) for name in names), nodes_of(away, "away")], options) as fleet:
        lost = connect(fleet, commands)
        assert list(lost) == ["away"]
        assert "connection refused" in str(lost["away"])
        answers = gather(fleet, commands)
        assert isinstance(answers.pop("away"), NodeLost)
        assert [answer.stdout for answer in answers.values()] == [f"{name}\n" for name in names]
        assert (fleet.connections, fleet.waves) == (16, 2)


def test_a_connection_that_ends_after_the_send_leaves_the_command_unknown_and_ends_it(fleet, server, tmp_path):
    server.drop_after_start = True
    with pytest.raises(NodeLost) as lost:
        send(fleet, "sh", "-c", f"sleep 60; : {tmp_path}/dropped", reads=False)
    assert lost.value.sent
    assert until(lambda: not alive(f"{tmp_path}/dropped"))


def test_a_connection_that_died_between_two_commands_is_opened_again_with_its_lock(fleet, server):
    fleet.lock(owner("run1"))
    server.down()
    server.up()
    assert until(lambda: send(fleet, "true", reads=False).ok)
    assert fleet.connections == 2
    server.stand_still(1.0)
    fleet._connections["spark1"]._transport.sock.shutdown(socket.SHUT_WR)
    assert send(fleet, "echo", "again").stdout == "again\n", "a write failed before its reader had noticed"
    assert fleet.connections == 3


def test_a_node_that_went_away_between_two_commands_was_not_sent_anything(fleet, server):
    assert send(fleet, "true").ok
    server.down()
    with pytest.raises(NodeLost) as lost:
        send(fleet, "true")
    assert not lost.value.sent
    with pytest.raises(Unreachable, match="spark1: connection refused"):
        fleet.lock(owner("run1"))


def test_a_cancel_drops_a_command_that_only_reads_and_lets_a_changing_one_end(fleet, tmp_path):
    for number, (reads, ended) in enumerate(((True, "cancelled"), (False, "exited"))):
        begun, gate = tmp_path / f"begun{number}", tmp_path / "gate"
        cancel = fleet.cancel()
        cancel_when(begun.exists, cancel)
        if not reads:
            threading.Thread(target=lambda: until(cancel.is_set) and gate.touch()).start()  # noqa: B023
        script = f"touch {begun}; until [ -e {gate} ]; do sleep 0.1; done"
        assert send(fleet, "sh", "-c", script, cancel=cancel, reads=reads).ended == ended
        assert cancel.is_set()


def test_the_output_can_be_followed_as_it_comes(fleet):
    cancel = fleet.cancel()
    seen = bytearray()

    def sink(data):
        seen.extend(data)
        if seen.count(b"\n") == 2:
            cancel.set()

    command = Command(("sh", "-c", "echo one; echo two; sleep 60"), reads=True)
    assert fleet.follow("spark1", command, sink, cancel).ended == "cancelled"
    assert seen == b"one\ntwo\n"


def test_secrets_and_passwords_of_sudo_arrive_by_stdin_and_stand_in_no_line(fleet, node, options, server):
    assert send(fleet, "printenv", "WENT_THROUGH_SUDO", become=True).stdout == "yes\n"
    knowing = replace(options, secrets={"key": "sk-1"}, sudo_password="hunter2")
    with Fleet([node], knowing) as other:
        assert send(other, "cat", stdin=Secret("key")).stdout == "sk-1"
        assert send(other, "cat", stdin="payload", become=True).stdout == "payload"
        (server.home / "sudo-password").write_text("hunter2")
        assert send(other, "cat", stdin="payload", become=True).stdout == "payload"
    refused = send(fleet, "true", become=True)
    assert (refused.code, refused.stderr) == (1, "sudo: a password is required\n")
    with Fleet([node], replace(options, sudo_password="hunter3")) as other:
        refused = send(other, "cat", stdin="payload", become=True)
    assert (refused.code, refused.stdout) == (1, "")
    assert "3 incorrect password attempts" in refused.stderr
    assert [secret in "".join(server.commands) for secret in ("sk-1", "hunter2")] == [False, False]


def test_a_lock_is_had_everywhere_or_nowhere_and_is_free_as_soon_as_its_run_has_left(make_server, options, nodes_of):
    free, taken = make_server(), make_server()
    both = [nodes_of(free, "free"), nodes_of(taken, "taken")]
    for server in (free, taken):  # who waits for another run gives up in a moment
        shorter = '[ "$1 $2" != "-w 3" ] || { shift 2; set -- -w 0.5 "$@"; }'
        tool(server, "flock", f'{shorter}\nexec {shutil.which("flock")} "$@"')
    with Fleet(both, options) as fleet:
        with Fleet(both[1:], options) as other:
            other.lock(owner("run1"))
            with pytest.raises(Locked, match="me@desk since 2026-01-01") as refused:
                fleet.lock(owner("run2"))
            assert refused.value.node == "taken"
            with Fleet(both[:1], options) as third:
                third.lock(owner("run3"))
        fleet.lock(owner("run2"))


def test_a_second_lock_that_is_refused_keeps_the_first_until_it_is_released(make_server, options, nodes_of):
    free, taken = make_server(), make_server()
    both = [nodes_of(free, "free"), nodes_of(taken, "taken")]
    with Fleet(both, options) as fleet, Fleet(both, options) as other:
        other.lock(owner("run1"), ["taken"])
        fleet.lock(owner("run2"), ["free"])
        with pytest.raises(Locked):
            fleet.lock(owner("run2"), ["taken"])
        with pytest.raises(Locked, match="run2"):
            other.lock(owner("run1"), ["free"])
        assert fleet.send("free", Command(("true",)), fleet.cancel()).ok
        fleet.unlock()
        other.lock(owner("run1"), ["free"])
        other.unlock()
        fleet.lock(owner("run2"))


def test_a_changing_command_is_refused_once_the_lock_is_somebody_elses(fleet, server):
    fleet.lock(owner("run1"))
    assert send(fleet, "true", reads=False).ok
    (server.home / "run/lock/sparkops.lock").write_text(json.dumps(vars(owner("run2"))))
    refused = send(fleet, "true", reads=False)
    assert (refused.code, refused.stderr) == (75, "sparkops-run: lock lost\n")
    assert send(fleet, "true").ok


def test_a_beat_keeps_the_lock_and_after_silence_it_is_taken_again_over_the_same_connection(fleet, server):
    """A laptop that slept: the node freed the lock, the connection lives. `timeout` waits for each beat anew."""
    beats, silent = server.home / "beats", server.home / "silent"
    waits = f'[ "$2" != head ] || {{ echo >>{beats}; [ ! -e {silent} ] || exit 124; }}'
    tool(server, "timeout", f'{waits}\nexec {shutil.which("timeout")} "$@"')
    beats.touch()
    fleet.lock(owner("run1"))
    hold = fleet._holds["spark1"]
    for number in (2, 3, 4):
        hold.beat()
        assert until(lambda: len(beats.read_text()) == number)  # noqa: B023
    silent.touch()
    hold.beat()
    assert until(lambda: hold.ended)
    silent.unlink()
    assert send(fleet, "true", reads=False).ok
    assert fleet.connections == 1


def test_after_a_silence_in_which_another_run_had_the_lock_nothing_is_changed(fleet, node, options, server):
    """A laptop that slept while a colleague deployed: the lock is free again, but the nodes are not as they were."""
    fleet.lock(owner("run1"))
    hold = fleet._holds["spark1"]
    hold._channel.shutdown_write()  # to the node, this is silence
    assert until(lambda: hold.ended)
    with Fleet([node], options) as other:
        other.lock(owner("run2"))
    refused = send(fleet, "true", reads=False)
    assert (refused.code, refused.stderr) == (75, "sparkops-run: lock lost\n")
    assert send(fleet, "true").ok
    fleet.unlock()
    fleet.lock(owner("run1"))
    assert send(fleet, "true", reads=False).ok


class Pressed(Fleet):
    """Somebody presses Ctrl-C when the undo asks for its cancels: nothing of the plan is under way then."""

    pressing = False

    def cancel(self):
        if self.pressing:
            os.kill(os.getpid(), signal.SIGINT)
        return super().cancel()


def test_an_interrupt_between_the_way_forward_and_the_undo_takes_nothing_from_the_undo(node, options, tmp_path):
    mark = tmp_path / "mark"
    undo = Action(Command(("rm", str(mark))))
    touch = Step("touch", "spark1", "touch", Action(Command(("touch", str(mark)))), undo)
    fails = Step("fails", "spark1", "fails", Action(Command(("false",))))
    with Pressed([node], options) as fleet:
        fleet.lock(owner("run1"))

        def emit(event):
            fleet.pressing |= event.kind == "failed"

        outcome = execute(Plan("deploy", None, (Phase("all", (touch, fails)),)), fleet, emit)
        fleet.pressing = False
    assert (outcome.status, outcome.undone) == ("failed", ("touch",))
    assert not mark.exists()
