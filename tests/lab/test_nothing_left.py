"""`lab down` leaves nothing of a lab on the machine, wherever `lab up` was killed."""

import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sparklab.docker_backend import engine, images


def spaces() -> str:
    return subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True).stdout


SIGNS: dict[str, Callable[[Path, str], bool]] = {
    "its engine starts": lambda lab, _: (lab / "containers/engine/pid").exists(),
    "its nodes are written": lambda lab, short: short in spaces(),
    "its nodes start": lambda lab, _: any(lab.glob("containers/nodes/*/lab/state/*.log")),
}


@pytest.mark.parametrize("stage", SIGNS)
def test_nothing_is_left_of_a_lab_that_was_killed_while(stage, new_lab, leftovers):
    lab = new_lab()
    process = lab.start("lab", "up", "--backend", "docker", "--nodes", "2")
    while not (lab.directory / "lab.json").exists():
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    record = json.loads((lab.directory / "lab.json").read_text())
    left = leftovers(lab.directory, record)
    while not SIGNS[stage](lab.directory, record["id"][:8]):
        assert process.poll() is None, "it was up before it could be killed"
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert left.found(), "there is something to remove"
    lab.cli("lab", "down")
    assert left.stays() == []


@pytest.fixture
def running() -> Iterator[str]:
    """The address of a Docker engine that is there already, as on an ordinary machine."""
    home = Path(tempfile.mkdtemp(prefix="engine-", dir="/tmp"))
    engine.runtime(home / "bin")
    if images.node_store().exists():  # so that it need not be built once more
        engine.copy_store(images.node_store(), home / "data")
    address = f"unix://{home}/docker.sock"
    words = ["dockerd", "--host", address, "--data-root", f"{home}/data", "--exec-root", f"{home}/exec"]
    words += ["--pidfile", f"{home}/pid", "--bridge", "none", "--iptables=false", "--log-level", "warn"]
    path = f"{home}/bin:{os.environ['PATH']}:/usr/sbin:/sbin"
    with (home / "log").open("wb") as log:
        daemon = subprocess.Popen(words, env={**os.environ, "PATH": path}, stdout=log, stderr=log)
        while not engine.answers(address):
            assert daemon.poll() is None, (home / "log").read_text()
            time.sleep(0.2)
    yield address
    daemon.terminate()
    daemon.wait()
    shutil.rmtree(home)


def test_an_engine_that_the_machine_has_is_used_and_goes_on(running, new_lab, leftovers):
    lab = new_lab()
    lab.more["DOCKER_HOST"] = running
    lab.cli("lab", "up", "--backend", "docker", "--nodes", "1")
    left = leftovers(lab.directory, lab.record)
    assert lab.record["engine"] == {"host": running, "ours": None}
    assert len(lab.on("node1", "docker", "images", "-q").split()) >= 3
    lab.cli("lab", "down")
    assert left.stays() == []
    assert subprocess.run(["docker", "-H", running, "ps", "-aq"], capture_output=True, check=True).stdout == b""
