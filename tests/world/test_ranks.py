"""The ranks of executor mp: what a deploy asks about them, and what `status` says of one that is missing."""

from dataclasses import replace
from typing import Any

import pytest

from support.world import Lab

WORDS = ("cluster", "--recipe", "qwen3-next-80b-a3b-instruct-fp8")
MEETING = "sparkops: all 2 ranks are here"
GAVE_UP = "sparkops: gave up after 5 failed starts; 'docker restart' or a new deploy tries again"


@pytest.fixture
def lab(lab: Lab) -> Lab:
    lab.deploy(*WORDS)
    return lab


def shown(lab: Lab) -> dict[str, Any]:
    (found,) = lab.json("status", code=None)["deployments"]
    return dict(found)


def late(lab: Lab, *log: str) -> None:
    """From now on rank 1 does not meet the other one, and its log ends so."""
    (worker,) = (one for one in lab.node("node2").engine.containers.values() if one.running)
    worker.boot = replace(worker.boot, never=True)
    worker.log += log


def test_a_deploy_and_status_ask_for_all_ranks_of_mp_as_they_do_for_rays_nodes(lab: Lab) -> None:
    assert (shown(lab)["state"], shown(lab)["ray"]) == ("serving", None)
    assert shown(lab)["ranks"] == {"total": 2, "here": 2, "missing": []}
    assert "ranks: 2 of 2 are here" in lab.cli("status").out
    lab.deploy(*WORDS, "--executor", "ray")
    assert (shown(lab)["ray"], shown(lab)["ranks"]) == ({"nodes": 2, "gpus": 2}, None)
    asked = {one.shown.partition("--restarts 0 ")[2] for one in lab.received() if one.shown.startswith("@serving")}
    assert asked == {"--ranks 2 --seconds 600", "--ranks 2 --seconds 5", "--ray 2 --seconds 600", "--ray 2 --seconds 5"}


@pytest.mark.parametrize(
    ("log", "state", "reason"),
    [
        ((), "starting", ""),
        (
            ("sparkops: waiting for rank 0 at 198.51.100.1",),
            "starting",
            "this node has not reached rank 0 at 198.51.100.1",
        ),
        (("CUDA out of memory", MEETING), "starting", ""),
        ((MEETING, "CUDA out of memory", GAVE_UP), "failed", "the unified memory is used up"),
        ((MEETING, GAVE_UP), "failed", GAVE_UP),
    ],
)
def test_status_names_the_missing_rank_its_node_and_the_reason_in_its_own_log(
    lab: Lab, log: tuple[str, ...], state: str, reason: str
) -> None:
    late(lab, *log)
    found = shown(lab)
    assert (found["state"], found["reason"]) == (state, "1 of 2 ranks are here")
    missing = [{"rank": 1, "node": "node2", "reason": reason}]
    assert found["ranks"] == {"total": 2, "here": 1, "missing": missing}
    line = f"missing: rank 1 on node2{': ' * bool(reason)}{reason}"
    assert line in map(str.strip, lab.cli("status", code=5).out.splitlines())


def test_a_rank_whose_node_or_container_is_away_is_missing_without_a_question_to_it(lab: Lab) -> None:
    late(lab)
    (worker,) = (one.name for one in lab.node("node2").engine.containers.values())
    lab.node("node2").engine.containers[worker].state = "exited"
    assert shown(lab)["ranks"]["missing"] == [{"rank": 1, "node": "node2", "reason": "exited"}]
    with lab.trouble("node2", "unreachable"):
        assert shown(lab)["ranks"]["missing"] == [{"rank": 1, "node": "node2", "reason": "unreachable"}]
