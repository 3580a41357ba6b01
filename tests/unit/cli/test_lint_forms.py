"""`lint` over files of every kind: what it finds, where, in which form, and how it ends."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]

OURS = "model: openai/gpt-oss-120b\ncontainer: vllm-node-mxfp4\nargs:\n  max-model-length: 4096\n"
THEIRS = r"""recipe_version: "1"
name: N
container: vllm-node-mxfp4
solo_only: true
defaults:
  port: 8000
command: |
  vllm serve openai/gpt-oss-120b \
    --quantization mxfp4 \
    --mxfp4-layers moe,qkv,o,lm_head \
    --max-num-seqs 2 --max-model-len 4096 \
    --port {port}
"""


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "ours.yml").write_text(OURS)
    (tmp_path / "theirs: 100%.yaml").write_text(THEIRS)
    (tmp_path / "other.yaml").write_text("runtime: sglang\nmodel: m\ncontainer: c\n")
    (tmp_path / "broken.yml").write_text("model: m\n\tcontainer: c\n")
    return tmp_path


def findings(document: dict[str, Any]) -> dict[str, list[tuple[str, str, Any]]]:
    found: dict[str, list[tuple[str, str, Any]]] = {}
    for entry in document["files"]:
        for one in entry["findings"]:
            found.setdefault(entry["file"], []).append((one["id"], one["action"], one["line"]))
    return found


def test_every_finding_has_its_line(sparkops: Run, files: Path) -> None:
    ran = sparkops("lint", "ours.yml", "theirs: 100%.yaml", "--topology", "cluster", "--format", "json")
    assert ran.code == 3
    found = findings(ran.document)
    assert ("unknown-flag", "refuse", 4) in found["ours.yml"]
    assert ("topology-allowed", "refuse", 4) in found["theirs: 100%.yaml"]
    assert ("cluster-lm-head", "fix", 10) in found["theirs: 100%.yaml"]
    assert all(line for lines in found.values() for _, _, line in lines)


def test_without_a_topology_a_file_is_held_to_those_that_it_is_for(sparkops: Run, files: Path) -> None:
    ran = sparkops("lint", "theirs: 100%.yaml", "--json")
    assert ran.code == 0
    assert [entry["topology"] for entry in ran.document["files"]] == ["solo"]


def test_what_cannot_be_read_is_said_and_the_others_are_linted(sparkops: Run, files: Path) -> None:
    ran = sparkops("lint", "broken.yml", "other.yaml", "gone.yml", "theirs: 100%.yaml", "--json")
    assert ran.code == 2
    assert findings(ran.document)["broken.yml"] == [("unreadable", "refuse", 2)]
    assert findings(ran.document)["other.yaml"] == [("unreadable", "refuse", 1)]
    assert findings(ran.document)["gone.yml"] == [("unreadable", "refuse", None)]
    assert "theirs: 100%.yaml" in findings(ran.document)
    assert ran.document["error"]["message"].splitlines() == [
        "broken.yml:2: a tab where spaces are needed",
        "other.yaml:1: runtime: is sglang; sparkops serves with vLLM only",
        "gone.yml: no such file",
    ]


def test_a_refusal_is_graver_than_a_file_that_cannot_be_read(sparkops: Run, files: Path) -> None:
    assert sparkops("lint", "broken.yml", "ours.yml").code == 3


def test_a_person_sees_file_line_and_what_to_do(sparkops: Run, files: Path) -> None:
    ran = sparkops("lint", "ours.yml", "--topology", "solo")
    assert "ours.yml as solo" in ran.out
    assert "refuse ours.yml:4: unknown-flag: --max-model-length" in ran.out
    assert "did you mean --max-model-len?" in ran.out
    assert "a deploy would refuse ours.yml" in ran.err


def test_github_is_told_in_its_own_words_each_finding_once(sparkops: Run, files: Path) -> None:
    ran = sparkops("lint", "ours.yml", "theirs: 100%.yaml", "other.yaml", "--format", "github")
    lines = ran.out.splitlines()
    assert all(line.startswith(("::error ", "::warning ", "::notice ")) for line in lines)
    assert len(lines) == len(set(lines))
    (slip,) = [line for line in lines if "title=unknown-flag" in line]
    assert slip.startswith("::error file=ours.yml,line=4,title=unknown-flag::--max-model-length")
    assert slip.endswith("%0Adid you mean --max-model-len?")
    assert "(as solo, cluster)" in slip
    assert any("file=theirs%3A 100%25.yaml,line=" in line for line in lines)
    assert (
        "::error file=other.yaml,line=1,title=unreadable::runtime: is sglang; sparkops serves with vLLM only" in lines
    )


def test_sarif_is_what_the_standard_asks_for(sparkops: Run, files: Path) -> None:
    ran = sparkops("lint", "ours.yml", "theirs: 100%.yaml", "broken.yml", "--format", "sarif")
    log = json.loads(ran.out)
    assert log["version"] == "2.1.0"
    assert log["$schema"].endswith("sarif-schema-2.1.0.json")
    (run,) = log["runs"]
    assert set(run) <= {"tool", "results"}
    rules = run["tool"]["driver"]["rules"]
    assert len({rule["id"] for rule in rules}) == len(rules)
    assert run["results"]
    for result in run["results"]:
        assert set(result) == {"ruleId", "ruleIndex", "level", "message", "locations"}
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] in ("error", "warning", "note", "none")
        assert result["message"]["text"]
        (location,) = result["locations"]
        place = location["physicalLocation"]
        assert place["artifactLocation"]["uri"] in ("ours.yml", "theirs%3A%20100%25.yaml", "broken.yml")
        assert place["region"]["startLine"] >= 1
    levels = {result["ruleId"]: result["level"] for result in run["results"]}
    assert levels["unknown-flag"] == "error"
    assert levels["unreadable"] == "error"
    assert levels["mounts-required"] == "note"


def test_a_path_from_the_root_is_a_file_uri(sparkops: Run, files: Path) -> None:
    ran = sparkops("lint", str(files / "ours.yml"), "--format", "sarif")
    places = [result["locations"][0]["physicalLocation"] for result in json.loads(ran.out)["runs"][0]["results"]]
    assert {place["artifactLocation"]["uri"] for place in places} == {(files / "ours.yml").as_uri()}


def test_a_flag_table_of_ones_own_decides_what_is_known(sparkops: Run, files: Path) -> None:
    known = ("max-model-length", "enforce-eager", "tensor-parallel-size", "distributed-executor-backend")
    usual = {"nargs": None, "kind": "_StoreAction", "type": None, "choices": None}
    options = [{**usual, "flags": [f"--{name}"]} for name in known]
    (files / "table.json").write_text(json.dumps({"version": "9.9", "options": options}))
    (files / "plain.yml").write_text("model: m\ncontainer: c\nargs: {max-model-length: 4096}\n")
    assert sparkops("lint", "plain.yml").code == 3
    assert sparkops("lint", "plain.yml", "--flags", "table.json").code == 0
    ran = sparkops("lint", "theirs: 100%.yaml", "--flags", "table.json")
    assert ran.code == 3
    assert "--mxfp4-layers (theirs: 100%.yaml:10) is no flag of vLLM 9.9; it exists in the mxfp4 image" in ran.out


@pytest.mark.parametrize(
    ("content", "message"),
    [("{", "table.json:1: is no JSON"), ("[1]", "is no table"), ("{}", "is no table"), ('"x"', "is no table")],
)
def test_what_is_no_flag_table_is_one_line(sparkops: Run, files: Path, content: str, message: str) -> None:
    (files / "table.json").write_text(content)
    ran = sparkops("lint", "ours.yml", "--flags", "table.json")
    assert ran.code == 2
    assert message in ran.err
    assert "Traceback" not in ran.err
