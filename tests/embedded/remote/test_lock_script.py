"""`node/lock.sh` alone: one holder a machine, and nothing to clean up after a holder that died."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sparkops.remote.frame import script_text

Take = Callable[..., subprocess.Popen[bytes]]


def owner(run: str) -> str:
    return f'{{"run":"{run}","user":"me","machine":"desk","pid":1,"since":"now"}}'


@pytest.fixture
def take(shell: str, tmp_path: Path) -> Iterator[Take]:
    taken: list[subprocess.Popen[bytes]] = []

    def start(run: str, quiet: str = "90", prefix: tuple[str, ...] = ()) -> subprocess.Popen[bytes]:
        words = (*prefix, shell, "-c", script_text("lock"), "lock", run, quiet, owner(run))
        pipe = subprocess.PIPE
        environment = {**os.environ, "SPARKOPS_ROOT": str(tmp_path)}
        process = subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=pipe, env=environment)
        taken.append(process)
        return process

    yield start
    for process in taken:
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            stream.close()


def line(process: subprocess.Popen[bytes]) -> str:
    return process.stdout.readline().decode().strip()


def free(process: subprocess.Popen[bytes]) -> None:
    process.stdin.close()
    process.wait(60)


def test_the_second_is_shown_the_first(take):
    first = take("run1")
    assert line(first) == "held"
    second = take("run2")
    assert line(second) == owner("run1")
    assert second.wait(60) == 75


def test_the_lock_is_free_when_the_client_hangs_up(take):
    first = take("run1")
    assert line(first) == "held"
    free(first)
    assert line(take("run2")) == "held"


def test_the_lock_is_free_when_the_holder_is_killed(take):
    first = take("run1")
    assert line(first) == "held"
    first.kill()
    first.wait()
    assert line(take("run2")) == "held"


def test_what_a_dead_holder_wrote_does_not_count(take, tmp_path):
    file = tmp_path / "run" / "lock" / "sparkops.lock"
    file.parent.mkdir(parents=True)
    file.write_text(owner("long gone") + "\nmore of it that is longer than anything that comes after\n" * 9)
    assert line(take("run2")) == "held"
    assert file.read_text() == owner("run2") + "\n"


def test_a_silent_client_loses_the_lock(take):
    first = take("run1", quiet="1")
    assert line(first) == "held"
    assert first.wait(60) == 0
    assert line(take("run2")) == "held"


def test_a_heartbeat_keeps_the_lock(take):
    first = take("run1", quiet="8")
    assert line(first) == "held"
    for _ in range(12):
        first.stdin.write(b".")
        first.stdin.flush()
        with pytest.raises(subprocess.TimeoutExpired):
            first.wait(0.8)
    assert line(take("run2")) == owner("run1")


def test_the_same_run_may_wait_for_its_own_dying_connection(take):
    first = take("run1")
    assert line(first) == "held"
    again = take("run1")
    assert line(again) == "waiting"
    free(first)
    assert line(again) == "held"


def test_the_file_is_open_to_every_user(take, tmp_path):
    file = tmp_path / "run" / "lock" / "sparkops.lock"
    first = take("run1", prefix=("sh", "-c", 'umask 077; exec "$@"', "sh"))
    assert line(first) == "held"
    assert file.stat().st_mode & 0o777 == 0o666


def test_a_file_of_another_user_can_be_locked(take, tmp_path):
    """As root by becoming somebody else; otherwise by a file that we may not make, only write."""
    folder = tmp_path / "run" / "lock"
    folder.mkdir(parents=True)
    file = folder / "sparkops.lock"
    file.touch()
    file.chmod(0o666)
    if os.getuid() == 0:
        for parent in (tmp_path, *tmp_path.parents):
            if parent.owner() == "root" and str(parent).startswith("/tmp/"):
                parent.chmod(0o755)
        folder.chmod(0o1777)
        other = take("run1", prefix=("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"))
    else:
        folder.chmod(0o555)
        other = take("run1")
    assert line(other) == "held"
    assert file.read_text() == owner("run1") + "\n"
    folder.chmod(0o755)


def test_a_file_that_cannot_be_written_is_said(take, tmp_path):
    folder = tmp_path / "run" / "lock"
    folder.mkdir(parents=True)
    (folder / "sparkops.lock").symlink_to("/proc/version")
    first = take("run1")
    _, errors = first.communicate(timeout=60)
    assert first.returncode == 73
    assert b"cannot write" in errors
