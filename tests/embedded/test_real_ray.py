"""A cluster whose head and worker are real Ray processes."""

from __future__ import annotations

import pytest

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


def test_a_cluster_over_real_ray_serves_survives_and_leaves_nothing(lab, until):
    deployed = lab.deploy("cluster", *SOON)
    (endpoint,) = deployed["endpoints"]
    assert lab.ask(endpoint["url"], lab.key())[0] == 200
    assert until(lambda: whole(lab))
    assert until(lambda: raylets(lab) == 2), "these are real ones"
    assert lab.deploy("cluster", *SOON)["changed"] is False

    lab.fault("node2", "reboot")
    lab.mark()
    assert until(lambda: whole(lab))
    assert not lab.changed()

    lab.json("stop")
    assert lab.containers() == set()
    assert until(lambda: not lab.processes())
