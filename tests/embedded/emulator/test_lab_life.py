"""A lab comes up once, goes away whole, and leaves its neighbours alone."""

import os
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from sparklab import api
from support.processes import living

RESTARTS = "docker run -d --restart always --entrypoint= vllm-node sh -c 'setsid sleep 7510 & sleep 7510'"
REMOTE = "trap '' HUP TERM; sleep 7511 & sleep 7512"


@pytest.fixture
def directory(tmp_path):
    """An own lab of one node; whatever a test leaves of it is taken down."""
    place = tmp_path / "second lab"
    assert api.up(1, directory=place, ray="emulated")["ray"] == "emulated"
    yield place
    api.down(directory=place)


@pytest.fixture
def busy(lab, directory):
    """It has a container that comes back, and a command that does not listen."""
    client = type(lab)(directory).connect(1)
    client.run(RESTARTS)
    client.open(REMOTE)
    assert processes_of(directory)
    return directory


def processes_of(directory, word=""):
    """Of this lab only: its directory is in their environment or command line, and the word too."""
    own = [one for one in living() if one.names(str(directory)) and one.names(word)]
    return [one.pid for one in own if one.pid != os.getpid()]


def kill_daemon(directory):
    """SIGKILL to the oldest of that name: a child that it has just forked is called so too, for a moment."""
    daemon = min(processes_of(directory, "sparklab.daemon"))
    os.kill(daemon, signal.SIGKILL)
    try:
        os.waitpid(daemon, 0)
    except ChildProcessError:
        while Path(f"/proc/{daemon}").exists():
            pass


def test_down_takes_all_that_runs_and_every_file_and_nothing_of_another_lab(lab, busy):
    others = {row["address"] for row in lab.rows()}
    assert others.isdisjoint(row["address"] for row in api.status(directory=busy)["nodes"])
    lab.connect(1).run("docker run -d --name kept --entrypoint= vllm-node sh -c 'sleep 600'")
    assert api.down(directory=busy)["stopped"] is True
    assert processes_of(busy) == []
    assert not busy.exists()
    assert api.down(directory=busy)["stopped"] is False
    assert lab.connect(1).docker("inspect", "--format", "{{.State.Status}}", "kept").out == "running\n"


def test_down_cleans_up_after_a_daemon_that_was_killed(busy):
    kill_daemon(busy)
    with pytest.raises(api.LabError, match="daemon is gone"):
        api.status(directory=busy)
    api.down(directory=busy)
    assert processes_of(busy) == []
    assert not busy.exists()


def test_up_replaces_a_lab_whose_daemon_was_killed(directory):
    kill_daemon(directory)
    assert api.up(1, directory=directory, ray="emulated")["started"] is True


def test_several_ups_at_once_make_one_lab_and_another_changes_nothing(tmp_path):
    place = tmp_path / "lab"
    try:
        with ThreadPoolExecutor(4) as pool:
            answers = list(pool.map(lambda _: api.up(1, directory=place, ray="emulated"), range(4)))
        assert [answer["started"] for answer in answers].count(True) == 1
        (row,) = api.up(1, directory=place)["nodes"]
        assert row.keys() == {"name", "address", "port", "connections", "commands", "faults"}
        assert row["name"] == "node1"
        with pytest.raises(api.LabError, match="with 1 nodes is up") as caught:
            api.up(3, directory=place)
        assert "lab down" in caught.value.hint
    finally:
        api.down(directory=place)


def test_the_real_ray_is_taken_where_each_node_has_a_core():
    pytest.importorskip("ray", reason="real Ray is not installed here")
    wishes = [(2, "auto", 2), (4, "auto", 2), (4, "real", 2), (2, "emulated", 8)]
    assert [api.ray_for(*wish) for wish in wishes] == ["real", "emulated", "real", "emulated"]
