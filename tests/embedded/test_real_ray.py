"""A cluster whose head and worker are real Ray processes."""

import contextlib
import os
from pathlib import Path

import pytest

from sparklab import files, processes

pytest.importorskip("ray", reason="real Ray is not installed here")

SOON = ("--set", "env.SPARKOPS_BACKOFF=1")


@pytest.fixture(scope="module")
def shared(lab_with):
    return lab_with(ray="real")


WHOLE = {"nodes": 2, "gpus": 2}


def whole(lab):
    """Whether `status` says that all serve, which it never says of half a Ray.

    Ray is null where Ray's own command, a big program, came up too late.
    """
    (shown,) = lab.shown()
    serving = shown["state"] == "serving"
    assert not serving or shown["ray"] in (WHOLE, dict.fromkeys(WHOLE))
    return serving and shown["ray"] == WHOLE


def raylets(lab):
    return sum("raylet/raylet" in line.partition(" ")[0] for line in lab.processes())


def listeners(lab):
    """The addresses, as the kernel prints them, at which any process of this lab listens."""
    family = processes.family([f"SPARKLAB_LAB={files.read_json(lab.directory / 'lab.json')['id']}"])
    handles = [handle for process in family for handle in Path("/proc", str(process.pid), "fd").glob("*")]
    ours = set()
    for handle in handles:
        with contextlib.suppress(OSError):
            ours.add(os.readlink(handle))
    rows = [row.split() for name in ("tcp", "tcp6") for row in Path(f"/proc/net/{name}").read_text().splitlines()]
    return {row[1].split(":")[0] for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in ours}


def test_a_cluster_over_real_ray_serves_survives_and_leaves_nothing(lab, until):
    deployed = lab.deploy("cluster", *SOON)
    (endpoint,) = deployed["endpoints"]
    assert lab.ask(endpoint["url"], lab.key())[0] == 200
    assert until(lambda: whole(lab))
    assert until(lambda: raylets(lab) == 2), "these are real ones"
    heard = listeners(lab)
    assert len(heard) > 2
    assert all(address.endswith("7F") for address in heard), "loopback is 127.x.y.z, written backwards"
    assert lab.deploy("cluster", *SOON)["changed"] is False

    lab.fault("node2", "reboot")
    lab.mark()
    assert until(lambda: whole(lab))
    assert not lab.changed()

    lab.json("stop")
    assert lab.running() == set()
    assert until(lambda: not lab.processes())
