"""A cluster whose head and worker are real Ray processes."""

from __future__ import annotations

import pytest

pytest.importorskip("ray", reason="real Ray is not installed here")
pytestmark = pytest.mark.ray

SOON = ("--set", "env.SPARKOPS_BACKOFF=1")


@pytest.fixture(scope="module")
def shared(lab_with):
    return lab_with(ray="real")


WHOLE = {"nodes": 2, "gpus": 2}


def shows(lab):
    """What `status` says of Ray; it stays null where Ray's own command, a big program, did not come up in time."""
    (shown,) = lab.json("status")["deployments"]
    assert shown["state"] == "serving"
    assert shown["ray"] in (WHOLE, dict.fromkeys(WHOLE))
    return shown["ray"]


def test_a_cluster_over_real_ray_serves_survives_and_leaves_nothing(lab, until):
    deployed = lab.deploy("cluster", *SOON)
    (endpoint,) = deployed["endpoints"]
    assert lab.ask(endpoint["url"], lab.key())[0] == 200
    assert until(lambda: shows(lab) == WHOLE, 120)
    assert sum("raylet/raylet" in line.split()[0] for line in lab.processes()) == 2, "these are real ones"
    assert lab.deploy("cluster", *SOON)["changed"] is False

    lab.fault("node2", "reboot")
    lab.mark()
    assert until(lambda: lab.state() == {"openai-gpt-oss-120b": "serving"}, 120)
    assert until(lambda: shows(lab) == WHOLE, 120)
    assert not lab.changed()

    lab.json("stop")
    assert lab.containers() == set()
    assert until(lambda: not lab.processes())
