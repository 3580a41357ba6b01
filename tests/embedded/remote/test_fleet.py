"""Commands over real SSH, on a server that executes them in real shells."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from dataclasses import replace

import pytest

from sparkops.core.plan import Action, Command, NodeLost, Phase, Plan, Script, Secret, Step
from sparkops.errors import Locked, Unreachable
from sparkops.remote.execute import execute
from sparkops.remote.fleet import Fleet
from sparkops.remote.gather import connect, gather
from sparkops.remote.lock import Hold, Owner
from support.paths import ROOT

READS = {"reads": True}


def owner(run):
    return Owner(run, "me", "desk", 1, "2026-01-01T00:00:00+00:00")


def until(holds):
    end = time.monotonic() + 60
    while time.monotonic() < end:
        if holds():
            return True
        time.sleep(0.02)
    return False


@pytest.fixture
def fleet(node, options):
    with Fleet([node], options) as fleet:
        yield fleet


def cancel_when(holds, cancel):
    """Sets it from another thread, as an interrupt does."""
    threading.Thread(target=lambda: until(holds) and cancel.set()).start()


def send(fleet, *words, cancel=None, **options):
    return fleet.send("spark1", Command(words, **{"reads": True, **options}), cancel or fleet.cancel())


@pytest.mark.parametrize("word", ["a b", "it's", "$HOME", "x;y", "", '{"a": "b c"}', "é\n", "--"])
def test_words_arrive_as_they_are(fleet, word):
    code = "import sys; sys.stdout.buffer.write(sys.argv[1].encode())"
    assert send(fleet, sys.executable, "-c", code, word).stdout == word


def test_a_bad_exit_is_a_value_with_both_streams(fleet):
    result = send(fleet, "sh", "-c", "echo out; echo bad >&2; exit 3")
    assert (result.ended, result.code, result.stdout, result.stderr) == ("exited", 3, "out\n", "bad\n")


def test_a_timeout_is_a_value_and_the_marker_is_taken_off(fleet):
    result = send(fleet, "sh", "-c", "echo bad >&2; sleep 60", timeout=5)
    assert (result.ended, result.code, result.stderr) == ("timeout", 124, "bad\n")


def test_big_outputs_on_both_streams_and_a_big_input_do_not_block_each_other(fleet):
    script = "cat; head -c 3000000 /dev/zero >&2; head -c 3000000 /dev/zero"
    result = send(fleet, "sh", "-c", script, stdin="x" * 3_000_000)
    assert len(result.stdout) == 6_000_000
    assert len(result.stderr) == 3_000_000


def test_a_flood_is_cut_in_the_middle(fleet):
    result = send(fleet, "sh", "-c", "echo first; head -c 20000000 /dev/zero; echo last")
    assert len(result.stdout) < 17_000_000
    assert result.stdout.startswith("first\n")
    assert result.stdout.endswith("last\n")
    assert "bytes left out" in result.stdout


def test_undecodable_output_is_shown_as_far_as_it_goes(fleet):
    assert send(fleet, "printf", r"a\377b").stdout == "a\ufffdb"


def test_many_commands_use_one_connection(fleet, server):
    for _ in range(5):
        assert send(fleet, "true").ok
    assert (fleet.connections, server.logins, fleet.commands) == (1, 1, 5)


def test_all_nodes_are_asked_at_once_in_one_wave(make_server, options, nodes_of):
    servers = [make_server() for _ in range(3)]
    with Fleet([nodes_of(server, f"n{at}") for at, server in enumerate(servers)], options) as fleet:
        names = [f"n{at}" for at in range(3)]
        assert connect(fleet, names) == {}
        answers = gather(fleet, {name: Command(("echo", name), reads=True) for name in names})
        assert [answer.stdout for answer in answers.values()] == ["n0\n", "n1\n", "n2\n"]
        assert (fleet.connections, fleet.waves) == (3, 2)


def test_a_node_that_is_away_is_a_value_beside_the_answers(make_server, options, nodes_of):
    there, away = make_server(), make_server()
    away.down()
    with Fleet([nodes_of(there, "there"), nodes_of(away, "away")], options) as fleet:
        lost = connect(fleet, ("there", "away"))
        assert list(lost) == ["away"]
        assert "connection refused" in str(lost["away"])
        answers = gather(fleet, {name: Command(("true",), reads=True) for name in ("there", "away")})
        assert isinstance(answers["away"], NodeLost)
        assert not isinstance(answers["there"], NodeLost)


def test_who_has_not_been_reached_before_a_cancel_is_not_reached_any_more(fleet, server):
    cancel = fleet.cancel()
    cancel.set()
    fleet.reach("spark1", cancel)
    assert (fleet.connections, server.logins) == (0, 0)


def test_a_connection_that_ends_after_the_send_leaves_the_command_unknown(fleet, server):
    fleet.reach("spark1", fleet.cancel())
    server.drop_after_start = True
    with pytest.raises(NodeLost) as lost:
        send(fleet, "sleep", "60", reads=False)
    assert lost.value.sent


def test_a_connection_that_died_between_two_commands_is_opened_again(fleet, server):
    assert send(fleet, "true").ok
    server.down()
    server.up()
    assert send(fleet, "true").ok
    assert fleet.connections == 2


def test_a_node_that_went_away_between_two_commands_was_not_sent_anything(fleet, server):
    assert send(fleet, "true").ok
    server.down()
    with pytest.raises(NodeLost) as lost:
        send(fleet, "true")
    assert not lost.value.sent


def test_a_dropped_connection_ends_the_command_on_the_node(fleet, server, alive, tmp_path):
    server.drop_after_start = True
    mark = f"{tmp_path}/dropped"
    with pytest.raises(NodeLost):
        send(fleet, "sh", "-c", f"sleep 60; : {mark}")
    assert until(lambda: not alive(f"sleep 60; : {mark}"))


def test_a_killed_client_ends_the_command_on_the_node(server, options, alive, tmp_path):
    mark = f"{tmp_path}/killed"
    code = f"""
from pathlib import Path
from sparkops.core.inventory import Node
from sparkops.core.plan import Command
from sparkops.remote.fleet import Fleet
from sparkops.remote.ssh import Options
node = Node("spark1", "127.0.0.1", user="me", port={server.port}, key_file={str(server.home / "id")!r})
with Fleet([node], Options("me", Path({str(tmp_path)!r}), (Path({str(server.known_hosts)!r}),))) as fleet:
    fleet.send("spark1", Command(("sh", "-c", "sleep 60; : {mark}"), reads=True), fleet.cancel())
"""
    client = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT)
    assert until(lambda: alive(f"sh -c sleep 60; : {mark}"))
    os.kill(client.pid, signal.SIGKILL)
    client.wait()
    assert until(lambda: not alive(f"sh -c sleep 60; : {mark}"))


def test_a_cancel_before_the_send_prevents_it(fleet, server):
    cancel = fleet.cancel()
    cancel.set()
    assert send(fleet, "true", cancel=cancel).ended == "cancelled"
    assert server.commands == []


def test_a_cancel_drops_a_command_that_only_reads(fleet, tmp_path):
    cancel = fleet.cancel()
    cancel_when((tmp_path / "begun").exists, cancel)
    assert send(fleet, "sh", "-c", f"touch {tmp_path}/begun; sleep 60", cancel=cancel).ended == "cancelled"


def test_a_cancel_lets_a_changing_command_end(fleet, tmp_path):
    cancel = fleet.cancel()
    cancel_when((tmp_path / "begun").exists, cancel)
    script = f"touch {tmp_path}/begun; sleep 1; echo changed"
    assert send(fleet, "sh", "-c", script, cancel=cancel, reads=False).stdout == "changed\n"
    assert cancel.is_set()


def test_an_interrupt_sets_the_cancel_and_is_raised_when_all_tasks_have_ended(fleet):
    ended = []

    def task(cancel):
        fleet.pause(60, cancel)
        ended.append(cancel.is_set())

    def interrupt(cancel):
        """A task begins only when the interrupt would be noted."""
        os.kill(os.getpid(), signal.SIGINT)
        task(cancel)

    with pytest.raises(KeyboardInterrupt) as stop:
        fleet.each({"a": interrupt, "b": task}, fleet.cancel())
    assert ended == [True, True]
    assert stop.value.args == (1,)


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


def test_a_secret_reaches_the_command_by_stdin_and_never_by_its_line(node, options, server):
    with Fleet([node], replace(options, secrets={"key": "sk-1"})) as fleet:
        assert send(fleet, "cat", stdin=Secret("key")).stdout == "sk-1"
    assert "sk-1" not in "".join(server.commands)


def test_sudo_without_a_password(fleet):
    assert send(fleet, "printenv", "WENT_THROUGH_SUDO", become=True).stdout == "yes\n"


def test_sudo_that_wants_a_password_says_so(fleet, server):
    (server.home / "sudo-password").write_text("hunter2")
    result = send(fleet, "true", become=True)
    assert (result.code, result.stderr) == (1, "sudo: a password is required\n")


def test_sudo_with_a_password_that_is_asked_for_or_not(node, options, server):
    with Fleet([node], replace(options, sudo_password="hunter2")) as fleet:
        assert send(fleet, "cat", stdin="payload", become=True).stdout == "payload"
        (server.home / "sudo-password").write_text("hunter2")
        assert send(fleet, "cat", stdin="payload", become=True).stdout == "payload"
    assert "hunter2" not in "".join(server.commands)


def test_a_wrong_sudo_password_is_said_at_once(node, options, server):
    (server.home / "sudo-password").write_text("hunter2")
    with Fleet([node], replace(options, sudo_password="hunter3")) as fleet:
        refused = send(fleet, "cat", stdin="payload", become=True)
    assert (refused.code, refused.stdout) == (1, "")
    assert "3 incorrect password attempts" in refused.stderr


def test_changing_commands_are_refused_once_the_lock_is_somebody_elses(fleet, node, options, server):
    fleet.lock(owner("run1"))
    assert send(fleet, "true", reads=False).ok
    (server.home / "run/lock/sparkops.lock").write_text(owner("run2").json())
    refused = send(fleet, "true", reads=False)
    assert (refused.code, refused.stderr) == (75, "sparkops-run: lock lost\n")
    assert send(fleet, "true").ok


def test_the_second_run_is_told_who_has_the_lock(fleet, node, options):
    fleet.lock(owner("run1"))
    with Fleet([node], options) as second:
        with pytest.raises(Locked) as refused:
            second.lock(owner("run2"))
        assert "me@desk since 2026-01-01" in str(refused.value)
        assert refused.value.node == "spark1"


def test_the_lock_is_free_as_soon_as_the_first_run_has_left(node, options):
    for run in ("run1", "run2", "run3"):
        with Fleet([node], options) as fleet:
            fleet.lock(owner(run))


def test_a_lock_that_cannot_be_had_everywhere_is_held_nowhere(make_server, options, nodes_of):
    free, taken = make_server(), make_server()
    with Fleet([nodes_of(taken, "taken")], options) as other:
        other.lock(owner("run1"))
        with Fleet([nodes_of(free, "free"), nodes_of(taken, "taken")], options) as fleet:
            with pytest.raises(Locked):
                fleet.lock(owner("run2"))
            with Fleet([nodes_of(free, "free")], options) as third:
                third.lock(owner("run3"))


def test_a_lock_on_a_node_that_is_away_is_unreachable(fleet, server):
    server.down()
    with pytest.raises(Unreachable, match="spark1: connection refused"):
        fleet.lock(owner("run1"))


def test_the_lock_is_taken_again_after_a_new_connection(fleet, server):
    fleet.lock(owner("run1"))
    server.down()
    server.up()
    assert until(lambda: send(fleet, "true", reads=False).ok)
    assert fleet.connections == 2


def test_a_connection_whose_write_fails_before_its_reader_noticed_is_opened_again(fleet, server):
    assert send(fleet, "true").ok
    server.stand_still(1.0)
    fleet._links["spark1"]._transport.sock.shutdown(socket.SHUT_WR)
    assert send(fleet, "echo", "again").stdout == "again\n"
    assert fleet.connections == 2


def test_a_lock_that_ended_in_silence_is_taken_again_over_the_same_connection(fleet):
    """A laptop that slept: the node freed the lock, the connection lives."""
    fleet.lock(owner("run1"))
    hold = fleet._holds["spark1"]
    hold._channel.shutdown_write()
    assert until(lambda: hold.ended)
    assert send(fleet, "true", reads=False).ok
    assert fleet.connections == 1


def test_an_interrupt_between_two_waves_is_seen_by_the_next_and_by_no_other(fleet):
    seen = []
    with fleet.held():
        os.kill(os.getpid(), signal.SIGINT)
        with pytest.raises(KeyboardInterrupt) as stop:
            fleet.each({"a": lambda cancel: seen.append(cancel.is_set())}, fleet.cancel())
        fleet.each({"a": lambda cancel: seen.append(cancel.is_set())}, fleet.cancel())
        os.kill(os.getpid(), signal.SIGINT)
    assert seen == [True, False]
    assert stop.value.args == (1,)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


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


def test_facts_are_gathered_by_script(fleet):
    result = fleet.send("spark1", Command((Script("facts"), "--only", "uname"), reads=True), fleet.cancel())
    assert result.stdout.startswith("sparkops-facts 1\n")


def test_a_heartbeat_keeps_the_lock_and_silence_frees_it(node, options):
    with Fleet([node], options) as fleet, Fleet([node], options) as second:
        fleet.reach("spark1", fleet.cancel())
        hold = Hold(fleet._links["spark1"], owner("run1"), quiet=8)
        hold.take()
        silent = threading.Event()
        heart = threading.Thread(target=_beat, args=(hold, silent))
        heart.start()
        try:
            time.sleep(9)  # longer than it may be quiet
            with pytest.raises(Locked):
                second.lock(owner("run2"))
        finally:
            silent.set()
            heart.join()
        assert until(lambda: _can_lock(second))


def _beat(hold, silent):
    while not silent.wait(0.5):
        hold.beat()


def _can_lock(fleet):
    try:
        fleet.lock(owner("run2"))
    except Locked:
        return False
    return True


def test_sixteen_nodes_work_at_the_same_time(server, options, nodes_of, tmp_path):
    names = [f"n{at}" for at in range(16)]
    meet = f"touch {tmp_path}/met-$1; until [ $(ls {tmp_path}/met-* | wc -l) = 16 ]; do sleep 0.1; done"
    commands = {name: Command(("sh", "-c", meet, "meet", name), reads=True) for name in names}
    with Fleet([nodes_of(server, name) for name in names], options) as fleet:
        assert all(result.ok for result in gather(fleet, commands).values())
        assert (fleet.connections, fleet.waves) == (16, 1)
