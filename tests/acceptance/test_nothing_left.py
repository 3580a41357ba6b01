"""`lab down` leaves nothing of a lab on the machine, wherever `lab up` was killed."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest


def spaces() -> str:
    return subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True).stdout


SIGNS: dict[str, Callable[[Path, str], bool]] = {
    "its engine starts": lambda lab, _: (lab / "containers/engine/pid").exists(),
    "its images are loaded": lambda lab, _: (lab / "containers/contexts/litellm/wheels/README").exists(),
    "its nodes are written": lambda lab, short: short in spaces(),
    "its nodes start": lambda lab, _: any(lab.glob("containers/nodes/*/lab/state/*.log")),
}


@pytest.mark.parametrize("stage", SIGNS)
def test_nothing_is_left_of_a_lab_that_was_killed_while(stage, new_lab, leftovers):
    lab = new_lab()
    process = lab.start("lab", "up", "--backend", "docker", "--nodes", "2")
    while not (lab.directory / "lab.json").exists():
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
    assert left.found() == []
