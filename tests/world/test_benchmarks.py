"""What `bench` keeps and compares; how it runs, fails and goes on is typed in `transcripts/bench.txt`."""

import json
from pathlib import Path
from typing import Any

import pytest

from support.world import Lab

SMALL = ("--set", "concurrency=1,2", "--set", "runs=1", "--set", "pp=512", "--set", "tg=200")
ONE = (*SMALL, "--set", "concurrency=1")


@pytest.fixture
def served(lab: Lab) -> Lab:
    lab.deploy("solo", "--limit", "node1")
    return lab


@pytest.fixture
def beside(lab: Lab) -> Lab:
    """Something of a person serves on the second node, which an experiment must bring back."""
    lab.deploy("solo", "--limit", "node2", "--set", "args.max-model-len=2048")
    return lab


def kept(lab: Lab, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((lab.home / "state/sparkops/bench" / f"{name}.json").read_text())
    return found


def test_a_run_is_kept_with_what_ran_and_shown_without_the_key(served: Lab) -> None:
    ran = served.cli("bench", "run", "--suite", "smoke", *SMALL, "--json", code=0)
    found = ran.document
    assert "concurrency 2" in ran.err, "progress without a terminal, and one document"
    assert [(row["concurrency"], row["metrics"]["decode"]["mean"]) for row in found["rows"]] == [(1, 50.0), (2, 100.0)]
    assert found["record"]["lock"]["revision"]["topology"] == "solo"
    assert found["record"]["lock"]["nodes"]["node1"]["driver"]
    assert found["record"]["versions"]["text"] == "sparkops-1"
    shown = served.cli("bench", "show", "last", lab=False, code=0)
    assert served.key() not in json.dumps(kept(served, found["id"])) + shown.told + ran.told


def test_a_run_on_emulated_nodes_is_marked_however_the_inventory_is_named(served: Lab) -> None:
    assert served.json("bench", "run", *ONE)["record"]["lab"] is False
    served.node("node1").probes["markers"] = (0, "cx7-hotplug\nlab")
    assert served.json("bench", "run", *ONE)["record"]["lab"] is True
    assert "(lab)" in served.cli("bench", "list", code=0).out


def test_a_home_that_cannot_be_written_is_said_before_anything_is_measured(served: Lab) -> None:
    (served.home / "file").write_text("")
    ran = served.cli("bench", "run", *ONE, XDG_STATE_HOME=str(served.home / "file"), code=2)
    assert "not a directory" in ran.err
    assert served.benchy.asked == []


def test_what_does_not_serve_is_not_measured(served: Lab) -> None:
    served.fault("node1", "engine-frozen")
    ran = served.cli("bench", "run", *ONE, code=3)
    assert "does not serve" in ran.err
    assert "status openai-gpt-oss-120b`" in ran.err
    assert served.benchy.asked == []


def test_points_that_exceed_the_context_are_named_and_left_out(lab: Lab) -> None:
    lab.deploy("solo", "--limit", "node1", "--set", "args.max-model-len=20256")
    ran = lab.cli("bench", "run", "--suite", "long-context", "--json", code=0)
    assert [row["prompt"] for row in ran.document["rows"]] == [5000, 20000]
    assert "does not fit into the context (--max-model-len 20256): prompt 40000" in ran.err
    assert [asked["--pp"] for asked in lab.benchy.asked] == ["5000", "20000"]
    lab.deploy("solo", "--limit", "node1", "--set", "args.max-model-len=4096")
    refused = lab.json("bench", "run", "--suite", "long-context", code=3)["error"]
    assert "no request of the suite long-context fits" in refused["message"]
    assert "args.max-model-len=40256" in refused["hint"]
    assert len(lab.benchy.asked) == 2


def test_runs_of_the_same_thing_are_compared_and_of_others_refused(served: Lab) -> None:
    first, second = (served.json("bench", "run", *ONE)["id"] for _ in range(2))
    assert served.json("bench", "compare", first, second)["comparisons"][0]["metric"] == "decode"
    served.deploy("solo", "--limit", "node1", "--set", "args.max-model-len=8192")
    other = served.json("bench", "run", *ONE)["id"]
    refused = served.json("bench", "compare", first, other, code=3)["error"]
    assert "--max-model-len" in refused["message"]
    assert "--vary flags" in refused["hint"]
    assert served.json("bench", "compare", first, other, "--vary", "flags")["labels"]


def test_runs_of_different_topologies_name_the_one_option_that_compares_them(lab: Lab) -> None:
    runs = []
    for topology in ("solo", "2x-solo"):
        lab.deploy(topology)
        runs.append(lab.json("bench", "run", *ONE, "--set", "runs=3")["id"])
    assert lab.json("bench", "compare", *runs, code=3)["error"]["hint"].endswith("--vary topology")
    found = lab.json("bench", "compare", *runs, "--vary", "topology")
    assert found["verdict"] == ["decode, prefill, TTFT: no difference beyond the noise at 1 request (±0.0 %)."]
    assert found["comparisons"][0]["rows"][0]["verdicts"] == [{"word": "same", "gain": 0.0, "margin": 0.0}]
    assert found["lab"] is False


def test_runs_with_prompts_from_different_texts_are_compared_only_where_that_is_asked_for(served: Lab) -> None:
    (served.work / "own.txt").write_text("a text of mine")
    first = served.json("bench", "run", *ONE)["id"]
    other = served.json("bench", "run", *ONE, "--book", "own.txt")["id"]
    refused = served.json("bench", "compare", first, other, code=3)["error"]
    assert "text: the prompts come from different texts (sparkops-1, file " in refused["message"]
    assert refused["hint"].endswith("--vary text")
    assert served.json("bench", "compare", first, other, "--vary", "text")["labels"]


def test_an_experiment_on_some_nodes_leaves_what_serves_on_others_alone(tmp_path: Path) -> None:
    lab = Lab(tmp_path, nodes=3)
    lab.deploy("solo", "--limit", "node3")
    lab.deploy("2x-solo", "--limit", "node1,node2", "--set", "args.max-model-len=2048")
    before = lab.running()
    asked = ("bench", "topologies", "--topologies", "solo,cluster", *ONE, "--limit", "node1,node2")
    assert len(lab.json(*asked)["runs"]) == 2
    assert lab.running() == before
    (told,) = (run for run in lab.json("history")["runs"] if run["verb"] == "bench topologies")
    assert told["changed"]


@pytest.mark.parametrize("at", range(1, 72))
def test_an_experiment_does_not_stop_what_a_colleague_deploys_meanwhile(tmp_path: Path, at: int) -> None:
    lab = Lab(tmp_path)
    lab.deploy("solo", "--limit", "node1")
    codes = list[int]()
    mine = ("deploy", "--topology", "solo", "--limit", "node2", "--name", "mine")
    lab.meets(at, lambda colleague: codes.append(colleague.cli(*mine).code))
    ran = lab.cli("bench", "topologies", "--topologies", "solo,cluster", *ONE)
    lab.anew()
    serve = {name for name, state in lab.state().items() if state == "serving"}
    restored = "openai-gpt-oss-120b" in serve or "could not be restored" in ran.err
    assert (codes, "mine" in serve, restored) in (([0], True, True), ([6], False, True))


@pytest.mark.parametrize("at", range(20, 78, 3))
def test_an_experiment_that_is_killed_is_told_until_what_served_serves_again(tmp_path: Path, at: int) -> None:
    lab = Lab(tmp_path)
    lab.deploy("2x-solo")
    before, asked = lab.running(), ("bench", "topologies", "--topologies", "solo,cluster", *ONE)
    assert lab.killed(at, *asked)
    assert lab.running() == before or lab.json("status", code=None)["cut_off"]
    lab.cli(*asked, code=0)
    assert (lab.running(), lab.json("status", code=None)["cut_off"]) == (before, [])


@pytest.mark.parametrize("at", [40, 60])
def test_an_experiment_that_goes_on_does_not_stop_what_began_since_it_was_killed(tmp_path: Path, at: int) -> None:
    lab = Lab(tmp_path)
    lab.deploy("2x-solo")
    asked = ("bench", "topologies", "--topologies", "solo,cluster", *ONE)
    assert lab.killed(at, *asked)
    lab.deploy("solo", "--limit", "node2", "--name", "mine")
    again = lab.cli(*asked)
    assert "what served before the interrupted run is not restored" in again.err
    assert lab.state()["mine"] == "serving"


@pytest.mark.parametrize("at", [40, 60])
def test_an_experiment_that_goes_on_brings_back_what_was_deployed_since_it_was_killed(tmp_path: Path, at: int) -> None:
    """Also if the experiment itself could have deployed that."""
    lab = Lab(tmp_path)
    lab.deploy("2x-solo")
    asked = ("bench", "topologies", "--topologies", "solo,cluster", *ONE)
    assert lab.killed(at, *asked)
    lab.cli("rollback", code=None)
    lab.deploy("solo", "--limit", "node1")
    served = lab.running()
    assert "deployed or stopped since" in lab.cli(*asked, code=0).err
    assert lab.running() == served


def test_the_experiment_brings_back_what_served_and_its_page_has_every_topology(beside: Lab) -> None:
    before = beside.running()
    ran = beside.json("bench", "topologies", "--topologies", "solo,2x-solo", *ONE, "-o", "report.html")
    assert ran["labels"] == ["solo", "2x-solo"]
    assert beside.running() == before
    assert beside.serves("node2")
    page = (beside.work / "report.html").read_text()
    assert all(f"{row['metrics']['decode']['mean']:,.1f}" in page
               for one in ran["runs"] for row in beside.json("bench", "show", one)["rows"])  # fmt: skip
