"""`node/job.sh` alone: work that outlives its client, and is never started twice."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sparkops.remote.frame import script_text

Job = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def job(shell: str, tmp_path: Path) -> Iterator[Job]:
    def call(*words: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "HOME": str(tmp_path), "PATH": f"{tmp_path}/bin:{os.environ['PATH']}"}
        frame = (shell, "-c", script_text("run"), "run", "120", "0", "-")
        inner = (shell, "-c", script_text("job"), "job", *words)
        with subprocess.Popen(
            [*frame, *inner],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            text=True,
            start_new_session=True,
        ) as process:
            out, errors = process.stdout.read(), process.stderr.read()
            code = process.wait(60)
        return subprocess.CompletedProcess(words, code, out, errors)

    yield call
    for line in call("list").stdout.splitlines():
        call("cancel", line.split("\t")[0])


def state(job: Job, name: str) -> list[str]:
    rows = [line.split("\t") for line in job("list").stdout.splitlines()]
    return next(row for row in rows if row[0] == name)[1:3]


def until(holds: Callable[[], object]) -> bool:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        if holds():
            return True
        time.sleep(0.05)
    return False


def test_a_job_goes_on_when_its_client_has_gone(job, tmp_path):
    gate, mark = tmp_path / "gate", tmp_path / "mark"
    script = f"until [ -e {gate} ]; do sleep 0.1; done; echo made; echo done >{mark}"
    assert job("start", "build", "60", "sh", "-c", script).stdout == "started build\n"
    assert state(job, "build") == ["running", ""]
    gate.touch()
    assert job("wait", "build").returncode == 0
    assert mark.read_text() == "done\n"
    assert job("log", "build").stdout == "made\n"
    assert state(job, "build") == ["ended", "0"]


def test_a_job_that_is_slow_to_begin_goes_on_too(job, tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "setsid").write_text(f'#!/bin/sh\nsleep 2\nexec {shutil.which("setsid")} "$@"\n')
    (tmp_path / "bin" / "setsid").chmod(0o755)
    assert job("start", "build", "60", "echo", "made").stdout == "started build\n"
    assert job("wait", "build").returncode == 0
    assert job("log", "build").stdout == "made\n"


def test_starting_a_running_job_is_a_no_op(job, tmp_path):
    mark = tmp_path / "mark"
    words = ("start", "build", "60", "sh", "-c", f"echo once >>{mark}; sleep 60")
    assert job(*words).stdout == "started build\n"
    assert until(lambda: mark.exists() and mark.read_text())
    assert job(*words).stdout == "running build\n"
    assert mark.read_text() == "once\n"


def test_a_job_that_ended_can_be_started_again(job):
    for code in (3, 0):
        assert job("start", "build", "60", "sh", "-c", f"exit {code}").returncode == 0
        assert job("wait", "build").returncode == code


def test_the_exit_code_and_the_log_are_kept(job):
    job("start", "build", "60", "sh", "-c", "echo out; echo bad >&2; exit 7")
    assert job("wait", "build").returncode == 7
    assert job("log", "build").stdout == "out\nbad\n"
    assert job("log", "build", "1").stdout == "bad\n"
    assert job("probe", "build").stdout == "never it ended with exit code 7\nout\nbad\n"


def test_the_deadline_ends_a_job(job):
    job("start", "build", "1", "sleep", "60")
    assert job("wait", "build").returncode == 124
    assert job("probe", "build").stdout.startswith("never its deadline passed")


def test_cancel_ends_a_job_with_what_it_started(job, tmp_path, alive):
    mark = f"{tmp_path}/grandchild"
    job("start", "build", "60", "sh", "-c", f"sh -c 'sleep 60; : {mark}' & sleep 60; : {mark}")
    assert until(lambda: alive(f"sleep 60; : {mark}"))
    assert job("cancel", "build").returncode == 0
    assert until(lambda: not alive(f"sleep 60; : {mark}"))
    assert state(job, "build") == ["ended", "143"]
    assert job("cancel", "build").returncode == 0


def test_a_job_that_was_killed_from_outside_is_not_called_running(job, tmp_path):
    job("start", "build", "60", "sleep", "61")
    folder = tmp_path / ".local" / "state" / "sparkops" / "jobs" / "build"
    pid = int((folder / "pid").read_text())
    assert until(lambda: os.getpgid(pid) == pid), "`timeout` has made its group"
    subprocess.run(["pkill", "-KILL", "-f", f"supervise {folder}"], check=True)
    os.killpg(pid, 9)
    assert until(lambda: state(job, "build")[0] == "lost")
    assert job("probe", "build").stdout.startswith("never no such job, or it was killed")


def test_a_probe_says_wait_while_it_runs_and_ready_when_it_went_well(job, tmp_path):
    gate = tmp_path / "gate"
    job("start", "build", "60", "sh", "-c", f"echo working; until [ -e {gate} ]; do sleep 0.1; done")
    assert until(lambda: job("probe", "build").stdout == "wait running\nworking\n")
    gate.touch()
    job("wait", "build")
    assert job("probe", "build").stdout == "ready\nworking\n"


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "../x", "a b"])
def test_a_name_that_could_leave_the_folder_is_refused(job, name):
    result = job("start", name, "60", "true")
    assert result.returncode == 2
    assert "not a job id" in result.stderr
