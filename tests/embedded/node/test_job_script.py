"""`node/job.sh` inside `run.sh`: work that outlives its client, and is never started twice."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from support.shells import Held, NodeShell, alive, until


@dataclass
class Jobs:
    """The jobs of one node, each call from a client of its own."""

    node: NodeShell

    def __call__(self, *words: str) -> tuple[int, str]:
        frame = self.node.words("run", "120", "0", "-", *self.node.words("job", *words))
        code, out, _ = Held(frame, env=self.node.env).end()
        return code, out.decode()

    def state(self, name: str) -> list[str]:
        rows = [line.split("\t") for line in self("list")[1].splitlines()]
        return next(row for row in rows if row[0] == name)[1:3]


@pytest.fixture
def jobs(nodes: list[NodeShell]) -> Iterator[list[Jobs]]:
    made = [Jobs(node) for node in nodes]
    yield made
    for one in made:
        for line in one("list")[1].splitlines():
            one("cancel", line.split("\t")[0])


def test_a_job_goes_on_when_its_client_has_gone_and_is_not_started_twice(jobs: list[Jobs]) -> None:
    """Also one that is slow to leave the group of who started it."""
    for job in jobs:
        job.node.tool("setsid", f'sleep 0.5; exec {shutil.which("setsid")} "$@"')
        gate, mark = (job.node.tools / name for name in ("gate", "mark"))
        script = f"echo begun >>{mark}; echo working; until [ -e {gate} ]; do sleep 0.05; done; echo done >>{mark}"
        words = ("start", "build", "60", "sh", "-c", script)
        assert job(*words) == (0, "started build\n")
        assert until(lambda: job("probe", "build") == (0, "wait running\nworking\n"))  # noqa: B023
        assert job(*words) == (0, "running build\n")
        assert job.state("build") == ["running", ""]
        gate.touch()
        assert job("wait", "build") == (0, "")
        assert mark.read_text() == "begun\ndone\n"
        assert job("probe", "build") == (0, "ready\nworking\n")


def test_a_job_that_ended_is_told_with_its_code_and_can_be_started_again(jobs: list[Jobs]) -> None:
    for job in jobs:
        for deadline, script, code in (("60", "exit 3", 3), ("0.2", "sleep 60", 124), ("60", "echo made", 0)):
            assert job("start", "build", deadline, "sh", "-c", script) == (0, "started build\n")
            assert job("wait", "build") == (code, "")
            assert job.state("build") == ["ended", str(code)]
        assert job("log", "build") == (0, "made\n")


def test_a_job_ends_by_a_cancel_with_what_it_started_and_by_a_kill_unnoticed(jobs: list[Jobs]) -> None:
    for job in jobs:
        mark = f"{job.node.tools}/grandchild"
        job("start", "build", "60", "sh", "-c", f"sh -c 'sleep 60; : {mark}' & sleep 60; : {mark}")
        assert until(lambda: alive(f"^sh -c sleep 60; : {mark}"))  # noqa: B023
        assert [job("cancel", "build"), job("cancel", "build")] == [(0, ""), (0, "")]
        assert until(lambda: not alive(f"sleep 60; : {mark}"))  # noqa: B023
        assert job.state("build") == ["ended", "143"]
        job("start", "fetch", "60", "sleep", "61")
        folder = job.node.home / ".local/state/sparkops/jobs/fetch"
        pid = int((folder / "pid").read_text())
        assert until(lambda: os.getpgid(pid) == pid), "`timeout` has made its group"  # noqa: B023
        subprocess.run(["pkill", "-KILL", "-f", f"supervise {folder}"], check=True)
        os.killpg(pid, 9)
        assert until(lambda: job.state("fetch") == ["lost", ""])  # noqa: B023
