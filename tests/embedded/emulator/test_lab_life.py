"""A lab comes up once, goes away whole, and leaves its neighbours alone."""

from __future__ import annotations

import os
import random
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from sparkops.lab import api, embedded

REMOTE = "trap '' HUP TERM; sleep 7511 & sleep 7512"


@pytest.fixture
def directory(tmp_path):
    """An own lab of one node; whatever a test leaves of it is taken down."""
    place = tmp_path / "second lab"
    api.up(1, directory=place, ray="emulated")
    yield place
    api.down(directory=place)


def test_two_labs_that_begin_together_are_not_on_one_network():
    random.seed(1)
    with embedded.claimed_octet() as first:
        random.seed(1)
        with embedded.claimed_octet() as second:
            assert first != second
        random.seed(1)
    with embedded.claimed_octet() as again:
        assert again == first


def connected(lab, directory):
    return type(lab)(directory).connect(1)


def processes_of(directory, word=""):
    """Of this lab only: its directory is in their environment or command line, and the word too."""
    needles = {os.fsencode(str(directory)), word.encode()}
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            text = Path(f"/proc/{pid}/environ").read_bytes() + Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            continue
        if all(needle in text for needle in needles) and int(pid) != os.getpid():
            found.append(int(pid))
    return found


def daemon_of(directory):
    """The oldest of that name: a child that it has just forked is called so too, for a moment."""
    return min(processes_of(directory, "sparkops.lab.daemon"))


def test_up_again_with_the_same_number_changes_nothing(directory):
    again = api.up(1, directory=directory)
    assert again["started"] is False
    assert [row["name"] for row in again["nodes"]] == ["node1"]
    with pytest.raises(api.LabError, match="with 1 nodes is up") as caught:
        api.up(3, directory=directory)
    assert "lab down" in caught.value.hint


def test_status_has_exactly_the_agreed_keys(directory):
    (row,) = api.status(directory=directory)["nodes"]
    assert set(row) == {"name", "address", "port", "connections", "commands", "faults"}


def test_down_takes_everything_that_runs_and_every_file(lab, directory):
    client = connected(lab, directory)
    client.run("docker run -d --restart always --entrypoint= vllm-node sh -c 'setsid sleep 7510 & sleep 7510'")
    client.open(REMOTE)
    assert processes_of(directory)
    assert api.down(directory=directory)["stopped"] is True
    assert processes_of(directory) == []
    assert not directory.exists()
    assert api.down(directory=directory)["stopped"] is False


def test_down_cleans_up_after_a_daemon_that_was_killed(lab, directory):
    client = connected(lab, directory)
    client.run("docker run -d --restart always --entrypoint= vllm-node sh -c 'sleep 7510'")
    client.open(REMOTE)
    daemon = daemon_of(directory)
    os.kill(daemon, signal.SIGKILL)
    os_wait(daemon)
    with pytest.raises(api.LabError, match="daemon is gone"):
        api.status(directory=directory)
    api.down(directory=directory)
    assert processes_of(directory) == []
    assert not directory.exists()


def os_wait(pid):
    try:
        os.waitpid(pid, 0)
    except ChildProcessError:
        while Path(f"/proc/{pid}").exists():
            pass


def test_up_replaces_a_lab_whose_daemon_was_killed(directory):
    daemon = daemon_of(directory)
    os.kill(daemon, signal.SIGKILL)
    os_wait(daemon)
    assert api.up(1, directory=directory, ray="emulated")["started"] is True


def test_two_labs_side_by_side_do_not_touch_each_other(lab, directory):
    others = {row["address"] for row in lab.rows()}
    assert others.isdisjoint(row["address"] for row in api.status(directory=directory)["nodes"])
    lab.connect(1).run("docker run -d --name kept --entrypoint= vllm-node sh -c 'sleep 600'")
    api.down(directory=directory)
    assert lab.connect(1).docker("inspect", "--format", "{{.State.Status}}", "kept").out == "running\n"


def test_several_ups_at_once_make_one_lab(tmp_path):
    place = tmp_path / "lab"
    try:
        with ThreadPoolExecutor(4) as pool:
            answers = list(pool.map(lambda _: api.up(1, directory=place, ray="emulated"), range(4)))
        assert [answer["started"] for answer in answers].count(True) == 1
    finally:
        api.down(directory=place)


def test_a_directory_that_is_no_lab_is_left_alone(tmp_path):
    (tmp_path / "lab").mkdir()
    (tmp_path / "lab" / "thesis.txt").write_text("mine")
    with pytest.raises(api.LabError, match="not empty"):
        api.up(1, directory=tmp_path / "lab")
    api.down(directory=tmp_path / "lab")
    assert (tmp_path / "lab" / "thesis.txt").read_text() == "mine"


def test_the_state_directory_is_where_the_environment_says(monkeypatch, tmp_path):
    monkeypatch.setenv("SPARKOPS_LAB_DIR", str(tmp_path / "here"))
    assert api.inventory_path() == tmp_path / "here" / "inventory.yml"
    monkeypatch.delenv("SPARKOPS_LAB_DIR")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert api.inventory_path() == tmp_path / "state" / "sparkops" / "lab" / "inventory.yml"
    with pytest.raises(api.LabError, match="no lab is up"):
        api.status()


@pytest.mark.parametrize("wrong", [{"nodes": 0}, {"ray": "maybe"}, {"backend": "cloud"}])
def test_a_wrong_wish_is_refused_before_anything_is_made(tmp_path, wrong):
    with pytest.raises(api.LabError):
        api.up(wrong.pop("nodes", 1), directory=tmp_path / "lab", **wrong)
    assert not (tmp_path / "lab").exists()


def test_many_nodes_come_up_and_answer(lab, tmp_path):
    place = tmp_path / "many"
    rows = api.up(40, directory=place, ray="emulated")["nodes"]
    try:
        assert len({row["address"] for row in rows}) == 40
        far = type(lab)(place).connect(40)
        assert far.run("docker ps -aq; echo ok").out == "ok\n"
        far.ssh.close()
    finally:
        api.down(directory=place)
    assert processes_of(place) == []


def test_the_faults_that_are_listed_are_those_of_the_lab_that_is_up(tmp_path):
    assert "worker-never-joins" in api.kinds(directory=tmp_path)
    (tmp_path / "lab.json").write_text('{"backend": "docker"}')
    assert "power-loss" in api.kinds(directory=tmp_path)
