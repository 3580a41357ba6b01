"""`node/run.sh` alone, in the shells that are `sh` on real machines."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import sparkops
from sparkops.remote.frame import script_text

NODE = Path(sparkops.__file__).parent / "node"
AWKWARD = ["a b", "it's", "$HOME", "`id`", "x;y", "", '{"a": "b c"}', "é\n", "-n", "*", "\\", "--"]


def frame(shell: str, timeout: str, count: str, run: str, *words: str) -> list[str]:
    return [shell, "-c", script_text("run"), "run", timeout, count, run, *words]


class Held:
    """The frame with its stdin held open, as a living client does."""

    def __init__(self, words: list[str], **options: object) -> None:
        self.process = subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            **options,
        )

    def give(self, data: bytes) -> Held:
        self.process.stdin.write(data)
        self.process.stdin.flush()
        return self

    def end(self) -> tuple[int, bytes, bytes]:
        """Its result while stdin stays open; reading to the end proves that nothing holds its output."""
        out, errors = self.process.stdout.read(), self.process.stderr.read()
        code = self.process.wait(60)
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.stderr.close()
        return code, out, errors

    def hang_up(self) -> None:
        self.process.stdin.close()
        self.process.wait(60)
        self.process.stdout.close()
        self.process.stderr.close()


def until(holds: Callable[[], bool]) -> bool:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        if holds():
            return True
        time.sleep(0.02)
    return False


@pytest.mark.parametrize("word", AWKWARD)
def test_words_survive(shell, word):
    code = "import sys; sys.stdout.buffer.write(sys.argv[1].encode())"
    result = Held(frame(shell, "20", "0", "-", sys.executable, "-c", code, word)).end()
    assert result == (0, word.encode(), b"")


@pytest.mark.parametrize("code", [0, 1, 75, 123, 124, 126, 137, 255])
def test_the_exit_code_is_the_commands(shell, code):
    assert Held(frame(shell, "20", "0", "-", "sh", "-c", f"exit {code}")).end() == (code, b"", b"")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV])
def test_a_signal_that_ended_the_command_is_told_as_shells_do(shell, number):
    code, _, _ = Held(frame(shell, "20", "0", "-", "sh", "-c", f"kill -{number.value} $$")).end()
    assert code == 128 + number


def test_a_command_that_does_not_exist_exits_127(shell):
    code, _, errors = Held(frame(shell, "20", "0", "-", "no-such-command")).end()
    assert code == 127
    assert b"no-such-command" in errors


def test_a_binary_payload_reaches_the_command_whole_and_then_ends(shell):
    payload = bytes(range(256)) * 256
    held = Held(frame(shell, "20", str(len(payload)), "-", "cat")).give(payload)
    assert held.end() == (0, payload, b"")


def test_without_a_payload_the_commands_stdin_is_empty(shell):
    assert Held(frame(shell, "20", "0", "-", "cat")).end() == (0, b"", b"")


def test_a_command_that_does_not_read_its_payload_ends_all_the_same(shell):
    payload = b"x" * 50_000
    assert Held(frame(shell, "20", str(len(payload)), "-", "true")).give(payload).end()[0] == 0


def test_a_password_that_sudo_did_not_take_never_reaches_the_command(shell):
    held = Held(frame(shell, "20", "+5", "-", "cat")).give(b"secret\n\nhello")
    assert held.end() == (0, b"hello", b"")
    held = Held(frame(shell, "20", "+5", "-", "cat")).give(b"\nhello")
    assert held.end() == (0, b"hello", b"")


def test_the_deadline_ends_the_command_and_says_so(shell):
    code, out, errors = Held(frame(shell, "5", "0", "-", "sh", "-c", "echo begun; sleep 60")).end()
    assert (code, out) == (124, b"begun\n")
    assert errors.endswith(b"sparkops-run: timeout\n")


def test_a_command_that_ignores_term_is_killed_at_its_deadline():
    words = ("sh", "-c", "trap '' TERM; echo begun; while :; do sleep 1; done")
    code, _, errors = Held(frame("sh", "1", "0", "-", *words)).end()
    assert code == 124
    assert errors.endswith(b"sparkops-run: timeout\n")


def test_the_end_of_stdin_ends_the_command_and_what_it_started(shell, alive, tmp_path):
    mark = f"{tmp_path}/grandchild"
    script = f"sh -c 'trap : INT; sleep 60; : {mark}' & sleep 60; : {mark}"
    held = Held(frame(shell, "60", "0", "-", "sh", "-c", script))
    assert until(lambda: alive(mark))
    held.hang_up()
    assert until(lambda: not alive(mark))


def test_the_end_of_stdin_in_the_middle_of_the_payload_ends_the_command(shell, alive, tmp_path):
    mark = f"{tmp_path}/reader"
    held = Held(frame(shell, "60", "1000", "-", "sh", "-c", f"cat; sleep 60; : {mark}")).give(b"part")
    assert until(lambda: alive(mark))
    held.hang_up()
    assert until(lambda: not alive(mark))


def test_an_ignored_hang_up_does_not_let_the_command_outlive_its_client(shell, alive, tmp_path):
    mark = f"{tmp_path}/nohup"
    words = frame(shell, "60", "0", "-", "sh", "-c", f"sleep 60; : {mark}")
    held = Held(["sh", "-c", 'trap "" HUP; exec "$@"', "nohup", *words])
    assert until(lambda: alive(mark))
    held.hang_up()
    assert until(lambda: not alive(mark))


def test_a_client_that_is_killed_takes_its_command_along(shell, alive, tmp_path):
    mark = f"{tmp_path}/orphan"
    words = frame(shell, "60", "0", "-", "sh", "-c", f"sleep 60; : {mark}")
    client = "from subprocess import *; import sys; Popen(sys.argv[1:], stdin=PIPE, start_new_session=True).wait()"
    process = subprocess.Popen([sys.executable, "-c", client, *words])
    assert until(lambda: alive(f"^sh -c sleep 60; : {mark}"))
    process.kill()
    process.wait()
    assert until(lambda: not alive(mark))


def test_what_a_command_leaves_behind_is_ended_and_does_not_hold_the_output(shell, alive, tmp_path):
    mark = f"{tmp_path}/left"
    code, out, _ = Held(frame(shell, "60", "0", "-", "sh", "-c", f"sh -c 'sleep 60; : {mark}' & echo started")).end()
    assert (code, out) == (0, b"started\n")
    assert until(lambda: not alive(mark))


def test_a_detached_process_is_left_alone(shell, alive, tmp_path):
    mark = f"{tmp_path}/detached"
    detach = f"setsid sh -c 'echo $$ >{mark}; sleep 60; : {mark}' </dev/null >/dev/null 2>&1 &"
    detach += f" until [ -s {mark} ]; do sleep 0.05; done"
    Held(frame(shell, "60", "0", "-", "sh", "-c", detach)).end()
    os.killpg(int(Path(mark).read_text()), signal.SIGKILL)


def test_no_watchdog_outlives_the_command(shell):
    held = Held(frame(shell, "54321", "3", "-", "cat")).give(b"abc")
    group = held.process.pid
    assert held.end() == (0, b"abc", b"")
    assert until(lambda: not _in_session(group))


def _in_session(session: int) -> bool:
    found = subprocess.run(["ps", "-o", "stat=", "-s", str(session)], capture_output=True, text=True, check=False)
    return any(not line.startswith("Z") for line in found.stdout.splitlines())


def test_a_changing_command_needs_the_lock_to_be_held_and_to_name_its_run(shell, tmp_path):
    environment = {**os.environ, "SPARKOPS_ROOT": str(tmp_path)}
    words = frame(shell, "20", "0", "run1", "echo", "changed")
    refused = (75, b"", b"sparkops-run: lock lost\n")
    assert Held(words, env=environment).end() == refused
    file = tmp_path / "run" / "lock" / "sparkops.lock"
    file.parent.mkdir(parents=True)
    file.write_text('{"run":"run1","user":"me"}\n')
    assert Held(words, env=environment).end() == refused, "named, but nobody holds it"
    with file.open() as held:
        holder = subprocess.Popen(["flock", "-n", str(held.fileno())], pass_fds=[held.fileno()])
        holder.wait()
        assert Held(words, env=environment).end() == (0, b"changed\n", b"")
        file.write_text('{"run":"run2","user":"you"}\n')
        assert Held(words, env=environment).end() == refused, "held, but by another run"
