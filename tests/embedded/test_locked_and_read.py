"""What runs, written down and held to; and what an image's engine takes, read from the image itself."""

from __future__ import annotations

import json

GPT = "openai-gpt-oss-120b"


def test_what_runs_is_held_to_what_was_locked(empty):
    lab = empty
    lab.deploy("solo")
    lab.cli("recipe", "lock", "-o", "a lock.json", code=0)
    found = json.loads((lab.work / "a lock.json").read_text())
    assert found["sparkops_lock"] == 1
    assert found["revision"]["args"]["quantization"] == "mxfp4"
    node = found["nodes"]["node1"]
    assert (node["role"], len(node["image"]), len(node["model"])) == ("server", 64, 40)
    assert node["driver"]
    assert node["kernel"]
    lab.mark()
    assert lab.json("recipe", "verify", "a lock.json")["equal"] is True
    assert lab.changed() == [], "it only reads"
    lab.deploy("solo", "--set", "args.max-num-seqs=7")
    changed = lab.json("recipe", "verify", "a lock.json", code=3)
    assert [(one["what"], one["key"], one["now"]) for one in changed["changes"]] == [("flags", "--max-num-seqs", 7)]
    found["nodes"]["node1"]["driver"] = "1.2"
    (lab.work / "old.json").write_text(json.dumps(found))
    keys = [one["key"] for one in lab.json("recipe", "verify", "old.json", "--ignore", "driver", code=3)["changes"]]
    assert keys == ["--max-num-seqs"]
    lab.json("stop")
    assert lab.json("recipe", "verify", "a lock.json", code=3)["error"]["message"]


def test_a_lock_on_stdout_is_a_lock_file(empty):
    lab = empty
    lab.deploy("solo")
    (lab.work / "out.json").write_text(lab.cli("recipe", "lock", code=0).out)
    assert lab.json("recipe", "verify", "out.json")["equal"] is True


def test_the_options_of_an_image_are_read_once_and_judge_its_recipes(empty):
    lab = empty
    first = lab.json("image", "flags", "vllm-node-mxfp4", "--on", "node2")
    assert (first["read"], first["node"], first["version"]) == (True, "node2", "0.1.dev12777+mxfp4")
    assert first["added"] == ["mxfp4-backend", "mxfp4-layers"]
    again = lab.json("image", "flags", GPT)
    assert (again["read"], again["table"]) == (False, first["table"])
    assert lab.json("image", "flags", GPT, "--fresh")["read"] is True
    lab.json("image", "flags", "vllm-node")
    refused = lab.json("plan", "--topology", "solo", "--set", "args.seeed=1", code=3)
    assert "is no flag of vLLM 0.1.dev12777+mxfp4 of vllm-node-mxfp4" in refused["error"]["message"]
    recipe = "model: m\ncontainer: vllm-node\nargs: {mxfp4-layers: moe}\n"
    (lab.work / "mine.yml").write_text(recipe)
    ran = lab.cli("lint", "mine.yml", lab=False, code=3)
    assert "--mxfp4-layers (mine.yml:3) is no flag of vLLM 0.32.0 of vllm-node" in ran.out


def test_an_image_that_is_not_there_or_serves_nothing_is_said(empty):
    lab = empty
    assert "has the image nobody/knows" in lab.cli("image", "flags", "nobody/knows", code=3).err
    ran = lab.cli("image", "flags", "ghcr.io/berriai/litellm:main-stable", code=5)
    assert "no make_arg_parser in this image" in ran.err
    assert lab.containers() == set()
