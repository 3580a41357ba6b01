"""`bench` over simulated nodes: what is kept, resumed, compared and refused; the numbers are the simulated tool's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sparkops.testing import Boot, BootRule, Crash
from support.world import MODEL, Lab

SMALL = ("--set", "concurrency=1,2", "--set", "runs=1", "--set", "pp=512", "--set", "tg=200")
ONE = (*SMALL, "--set", "concurrency=1")
BOTH = ("bench", "topologies", "--topologies", "2x-solo,solo")


def interrupt() -> None:
    raise KeyboardInterrupt


@pytest.fixture
def served(lab: Lab) -> Lab:
    lab.deploy("solo", "--limit", "node1")
    return lab


@pytest.fixture
def beside(lab: Lab) -> Lab:
    """Something of a person serves on the second node, which an experiment must bring back."""
    lab.deploy("solo", "--limit", "node2", "--set", "args.max-model-len=2048")
    return lab


@pytest.fixture
def offline(tmp_path: Path) -> tuple[str, ...]:
    """A tokenizer for a URL of which nothing is known."""
    (tmp_path / "tokenizer.json").write_text("{}")
    return ("--tokenizer", str(tmp_path / "tokenizer.json"))


def kept(lab: Lab, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((lab.home / "state/sparkops/bench" / f"{name}.json").read_text())
    return found


def records(lab: Lab) -> list[str]:
    return [one["id"] for one in lab.json("bench", "list", lab=False)["records"]]


def test_a_run_is_kept_with_what_ran_and_shown_without_the_key(served: Lab) -> None:
    ran = served.cli("bench", "run", "--suite", "smoke", *SMALL, "--json", code=0)
    found = ran.document
    assert "concurrency 2" in ran.err, "progress without a terminal, and one document"
    assert [(row["concurrency"], row["metrics"]["decode"]["mean"]) for row in found["rows"]] == [(1, 50.0), (2, 100.0)]
    assert found["record"]["lock"]["revision"]["topology"] == "solo"
    assert found["record"]["lock"]["nodes"]["node1"]["driver"]
    assert set(found["record"]["versions"]) == {"sparkops", "llama-benchy"}
    shown = served.cli("bench", "show", "last", lab=False, code=0)
    assert served.key() not in json.dumps(kept(served, found["id"])) + shown.told + ran.told


def test_any_url_is_measured_with_its_key_and_never_with_a_wrong_one(served: Lab, offline: tuple[str, ...]) -> None:
    url = f"http://{served.address('node1')}:8000"
    asked = ("bench", "run", "--url", url, "--model", MODEL, *ONE, *offline)
    assert served.json(*asked, SPARKOPS_API_KEY=served.key())["record"]["lock"] is None
    wrong = served.json(*asked, code=5, SPARKOPS_API_KEY="sk-wrong")
    assert ("401" in wrong["error"]["message"], wrong["rows"], wrong["record"]["raw"]) == (True, [], [])
    assert "$SPARKOPS_API_KEY" in wrong["error"]["hint"]
    assert "--resume" not in wrong["error"]["hint"], "a wrong address is not gone on with"


@pytest.mark.parametrize("url", ["127.0.0.1:8000", "http://", "http://127.0.0.1:port", "ftp://127.0.0.1"])
def test_what_is_no_url_is_said_before_anything_is_asked(lab: Lab, offline: tuple[str, ...], url: str) -> None:
    ran = lab.cli("bench", "run", "--url", url, "--model", MODEL, *SMALL, *offline, code=2)
    assert f"--url {url}: must be like http://HOST:PORT" in ran.err
    assert lab.benchy.asked == []


def test_what_cannot_be_measured_is_said_before_anything_is_deployed_or_stopped(served: Lab) -> None:
    served.mark()
    nowhere = "/nowhere/at/all"
    for option in ("--book", "--tokenizer"):
        ran = served.cli("bench", "topologies", *SMALL, option, nowhere, code=2)
        assert f"{option} {nowhere}: there is no such file" in ran.err
    ran = served.cli("deploy", "--topology", "solo", "--bench", code=2, SPARKOPS_BOOK=nowhere)
    assert f"$SPARKOPS_BOOK {nowhere}" in ran.err
    assert "smoke?" in served.json("bench", "run", "--suite", "smokey", code=2)["error"]["message"]
    for words in (("--topologies", "solo"), ("--topologies", "solo,sollo"), ("-o", "/nowhere/x.html")):
        served.cli("bench", "topologies", *words, *SMALL, code=2)
    assert served.received() == []
    assert "llama-benchy" in served.json("bench", "run", "--on", "node1", *SMALL, code=3)["error"]["message"]
    served.benchy.here = False
    assert "llama-benchy is not installed" in served.cli("bench", "run", *SMALL, code=2).err
    assert served.changed() == []


def test_a_home_that_cannot_be_written_is_said_before_anything_is_measured(served: Lab) -> None:
    (served.home / "file").write_text("")
    ran = served.cli("bench", "run", *ONE, XDG_STATE_HOME=str(served.home / "file"), code=2)
    assert "not a directory" in ran.err
    assert served.benchy.asked == []


def test_a_server_that_dies_in_the_middle_is_a_failure_and_no_number(served: Lab) -> None:
    ((_, name),) = served.running()
    served.benchy.meanwhile[2] = lambda: served.node("node1").engine.kill(name)
    document = served.json("bench", "run", *SMALL, code=5)
    assert (document["ok"], document["rows"]) == (False, [])
    assert "concurrency 2" in document["error"]["message"]
    assert served.json("bench", "show", document["id"])["state"] == "failed"
    for words in (("export",), ("compare", document["id"])):
        assert served.cli("bench", *words, document["id"], lab=False).code == 3


@pytest.mark.parametrize("killed", [False, True], ids=["interrupted", "killed"])
def test_an_interrupted_run_goes_on_where_it_was(served: Lab, killed: bool) -> None:
    served.benchy.meanwhile[2] = served.world.crash if killed else interrupt
    words = ("bench", "run", *SMALL, "--label", "mine")
    if killed:
        with pytest.raises(Crash):
            served.cli(*words)
        served.anew()
        (name,) = records(served)
    else:
        told = served.cli(*words, code=130).err
        (name,) = records(served)
        assert f"--resume {name}" in told
    first = kept(served, name)["raw"]
    assert len(first) == 1
    assert served.json("bench", "show", name)["state"] == "unfinished"
    resumed = served.json("bench", "run", "--resume", name)
    assert (resumed["id"], resumed["record"]["label"], len(resumed["rows"])) == (name, "mine", 2)
    assert kept(served, name)["raw"][0] == first[0]
    assert [one["--concurrency"] for one in served.benchy.asked] == ["1", "2", "2"]


def test_a_wedged_gpu_makes_the_run_a_failure_and_a_resting_one_does_not(served: Lab) -> None:
    probes = served.node("node1").probes
    probes["gpu-load"] = (0, "208, 3.60, 0, 43, P8, 0x0000000000000001")
    found = served.json("bench", "run", *SMALL)
    assert [(one["node"], one["clock_mhz"]) for one in found["record"]["samples"]] == [("node1", 208)] * 2
    assert "nodes meanwhile" in served.cli("bench", "show", "last", lab=False, code=0).out
    probes["gpu-load"] = (0, "513, 12.10, 96, 71, P0, 0x0000000000000000")
    assert "stayed at 513 MHz" in served.json("bench", "run", *SMALL, code=5)["error"]["message"]


def test_a_run_goes_on_only_with_what_was_begun(served: Lab) -> None:
    name = served.json("bench", "run", *ONE)["id"]
    served.deploy("solo", "--limit", "node1", "--set", "args.max-model-len=2048")
    assert "another deployment" in served.json("bench", "run", "--resume", name, code=3)["error"]["message"]


def test_runs_of_the_same_thing_are_compared_and_of_others_refused(served: Lab) -> None:
    first, second = (served.json("bench", "run", *ONE)["id"] for _ in range(2))
    assert served.json("bench", "compare", first, second)["comparisons"][0]["metric"] == "decode"
    served.deploy("solo", "--limit", "node1", "--set", "args.max-model-len=8192")
    other = served.json("bench", "run", *ONE)["id"]
    refused = served.json("bench", "compare", first, other, code=3)["error"]
    assert "--max-model-len" in refused["message"]
    assert "--vary flags" in refused["hint"]
    assert served.json("bench", "compare", first, other, "--vary", "flags")["labels"]


def recipe(lab: Lab) -> tuple[str, ...]:
    """A deploy of a recipe that asks to be measured."""
    (lab.work / "own.yml").write_text(
        "extends: openai-gpt-oss-120b\nbenchmark:\n  enabled: true\n  framework: vllm-bench\n"
        '  args: ["--random-input-len", "256", "--tg", "100", "--concurrency", "1,2", "--runs", "1",'
        ' "--num-prompts", "9"]\n'
    )
    return ("--recipe", str(lab.work / "own.yml"), "--topology", "solo", "--limit", "node1")


def test_a_recipe_that_asks_for_it_is_measured_after_each_change_and_no_other_time(lab: Lab) -> None:
    words = recipe(lab)
    ran = lab.cli("deploy", *words, "--json", code=0)
    rows = [(row["prompt"], row["answer"], row["concurrency"]) for row in ran.document["bench"]["rows"]]
    assert rows == [(256, 100, 1), (256, 100, 2)]
    assert "--num-prompts: here a point is measured" in ran.err
    assert "vllm-bench: llama-benchy is what measures" in ran.err
    assert "bench" not in lab.json("deploy", *words)
    assert lab.json("plan", *words)["changes"] == []
    other = ("--set", "args.max-model-len=3000")
    changes = lab.json("plan", *words, *other)["changes"]
    assert changes[-1] == "then measures it: The benchmark of own, 3 requests"
    assert "bench" not in lab.json("deploy", *words, *other, "--no-bench")


@pytest.mark.parametrize("trouble", ["engine", "interrupt"])
def test_a_benchmark_that_fails_or_is_interrupted_leaves_what_was_deployed(lab: Lab, trouble: str) -> None:
    def die() -> None:
        ((_, name),) = lab.running()
        lab.node("node1").engine.kill(name)

    lab.benchy.meanwhile[2] = die if trouble == "engine" else interrupt
    document = lab.json("deploy", *recipe(lab), code=5 if trouble == "engine" else 130)
    assert document["endpoints"][0]["node"] == "node1"
    assert (document["bench"]["ok"], document["bench"]["rows"]) == (False, [])
    assert f"--resume {records(lab)[-1]}" in document["error"]["hint"]
    assert trouble == "engine" or "own serves on" in document["error"]["message"]
    lab.settle()
    assert lab.state() == {"own": "serving"}


def test_the_experiment_brings_back_what_served_and_its_page_has_every_topology(beside: Lab) -> None:
    before = beside.running()
    ran = beside.json("bench", "topologies", "--topologies", "solo,2x-solo", *ONE, "-o", "report.html")
    assert ran["labels"] == ["solo", "2x-solo"]
    assert beside.running() == before
    assert beside.serves("node2")
    page = (beside.work / "report.html").read_text()
    assert all(f"{row['metrics']['decode']['mean']:,.1f}" in page
               for one in ran["runs"] for row in beside.json("bench", "show", one)["rows"])  # fmt: skip


def test_an_experiment_that_fails_on_one_topology_reports_the_other_and_the_same_command_does_the_rest(
    lab: Lab,
) -> None:
    words = (*BOTH, *ONE, "-o", "report.html")
    boots = lab.node("node2").engine.boots
    boots.append(BootRule(lambda _image, _words: True, Boot(crashes=True)))
    found = lab.json(*words, code=5)
    assert (found["error"]["node"], found["labels"], list(found["failed"])) == ("node2", ["solo"], ["2x-solo"])
    assert "2x-solo: not measured: node2: " in (lab.work / "report.html").read_text()
    assert lab.running() == set()
    boots.clear()
    again = lab.json(*words)
    assert again["labels"] == ["2x-solo", "solo"]
    assert again["runs"][1:] == found["runs"]
    assert "not measured" not in (lab.work / "report.html").read_text()
    assert lab.json(*words)["runs"][1:] != found["runs"]


def test_an_interrupted_experiment_brings_back_what_served_and_takes_away_what_it_put_beside_it(beside: Lab) -> None:
    before = beside.running()
    beside.benchy.meanwhile[4] = interrupt
    told = beside.cli("bench", "topologies", "--topologies", "solo,2x-solo", *SMALL, code=130).err
    assert "what served before serves again" in told
    assert (beside.running(), beside.serves("node2")) == (before, True)


def test_the_same_command_goes_on_with_a_killed_experiment_and_brings_back_what_served_before_it(beside: Lab) -> None:
    before = beside.running()
    beside.benchy.meanwhile[2] = beside.world.crash
    with pytest.raises(Crash):
        beside.cli(*BOTH, *SMALL)
    beside.anew()
    assert beside.running() != before
    (name,) = records(beside)
    first = kept(beside, name)["raw"]
    found = beside.json(*BOTH, *SMALL)
    assert found["runs"][0] == name
    assert kept(beside, name)["raw"][:1] == first
    assert (beside.running(), beside.serves("node2")) == (before, True)
