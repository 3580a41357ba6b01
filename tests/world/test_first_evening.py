"""What only a file says of a deployment that serves; logs and locks are typed in `transcripts/evening.txt`."""

import json
from pathlib import Path

import pytest

from sparkops.core.facts import parse
from support.world import Lab


@pytest.fixture
def serving(lab: Lab) -> Lab:
    lab.deploy("2x-solo")
    return lab


def test_a_raw_capture_is_a_fixture_file(serving: Lab) -> None:
    raw = serving.cli("facts", "node2", "--raw", code=0).out
    assert raw.startswith("sparkops-facts 1\n")
    facts = parse(raw)
    assert facts.link().address
    assert [container for container in facts.containers if container.ours]
    assert [node["name"] for node in serving.json("facts")["nodes"]] == serving.names


def test_a_run_log_is_json_lines_and_named_last_on_failure(lab: Lab) -> None:
    ran = lab.cli("run", "--", "false", code=5)
    path = Path(ran.err.strip().splitlines()[-1].removeprefix("log: "))
    events = [json.loads(line) for line in path.read_text().splitlines()]
    assert events[-1]["exit_code"] == 5


def test_a_lock_has_what_runs_and_standard_output_takes_it_too(lab: Lab) -> None:
    lab.deploy("solo")
    lab.cli("recipe", "lock", "-o", "a lock.json", code=0)
    found = json.loads((lab.work / "a lock.json").read_text())
    assert found["sparkops_lock"] == 1
    assert found["revision"]["args"]["quantization"] == "mxfp4"
    node = found["nodes"]["node1"]
    assert (node["role"], len(node["image"]), len(node["model"])) == ("server", 64, 40)
    assert node["driver"]
    assert node["kernel"]
    (lab.work / "out.json").write_text(lab.cli("recipe", "lock", code=0).out)
    lab.mark()
    assert lab.json("recipe", "verify", "out.json")["equal"] is True
    assert lab.changed() == [], "it only reads"
