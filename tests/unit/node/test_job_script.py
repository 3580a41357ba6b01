"""`node/job.sh` over jobs that have ended: what it says of them, and names that it does not take."""

import fcntl

from support.shells import NodeShell


def job(node: NodeShell, name: str, log: str, code: str = "") -> None:
    """What a job leaves; without a code it was killed."""
    folder = node.home / ".local/state/sparkops/jobs" / name
    folder.mkdir(parents=True, exist_ok=True)
    for file, text in {"cmd": "make it\tso ", "pid": "1\n", "log": log, "rc": code and f"{code}\n"}.items():
        (folder / file).write_text(text)


def test_a_probe_tells_how_a_job_ended_and_why_and_shows_the_end_of_its_log(node: NodeShell) -> None:
    ends = {
        ("out\nbad\n", "7"): "never it ended with exit code 7\nout\nbad\n",
        ("out\nerror: no space\n", "1"): "never no space\nout\nerror: no space\n",
        ("progress: 3 of 4\nout\n", "0"): "ready\nout\n",
        ("", "124"): "never it exceeded its time limit\n",
        ("out\n", ""): "never the job does not exist, or it was killed\nout\n",
    }
    for (log, code), told in ends.items():
        job(node, "build", log, code)
        assert node.run("job", "probe", "build").stdout == told
        assert node.run("job", "wait", "build").returncode == int(code or 137)
    job(node, "build", "out\nbad\n", "7")
    assert [node.run("job", "log", "build", *lines).stdout for lines in ((), ("1",))] == ["out\nbad\n", "bad\n"]
    with (node.home / ".local/state/sparkops/jobs/build/pid").open() as pid:
        fcntl.flock(pid, fcntl.LOCK_EX)
        job(node, "build", "progress: 3 of 4\nout\n")
        assert node.run("job", "probe", "build").stdout == "wait 3 of 4\nout\n3 of 4\n"
        assert node.run("job", "start", "build", "60", "false").stdout == "running build\n"
        assert node.run("job", "list").stdout.split("\t")[:3] == ["build", "running", ""]


def test_jobs_are_listed_in_one_line_each(node: NodeShell) -> None:
    job(node, "a", "", "3")
    job(node, "b", "")
    rows = [line.split("\t") for line in node.run("job", "list").stdout.splitlines()]
    assert [(*row[:3], row[4]) for row in rows] == [
        ("a", "ended", "3", "make it so "),
        ("b", "lost", "", "make it so "),
    ]


def test_a_name_that_could_leave_the_folder_is_refused(node: NodeShell) -> None:
    for name in ("", ".", "..", "a/b", "../x", "a b"):
        ended = node.run("job", "start", name, "60", "true")
        assert (ended.returncode, "not a job id" in ended.stderr) == (2, True)
