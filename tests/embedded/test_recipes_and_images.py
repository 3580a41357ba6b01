"""What an image's engine takes, read from the image itself, and mods of other launchers that are built into one."""

from support.person import THEIRS

GPT = "openai-gpt-oss-120b"


def test_an_unknown_flag_is_looked_up_in_the_image_before_anything_stops(empty):
    lab = empty
    lab.deploy("solo")
    served = lab.running()
    error = lab.deploy("solo", "--set", "args.nope=3", code=3)["error"]
    assert (
        "--nope (--set) is not a flag of vLLM 0.1.dev12777+mxfp4 of vllm-node-mxfp4 [unknown-flag]" in error["message"]
    )
    assert lab.running() == served


def test_the_options_of_an_image_are_read_once_and_judge_its_recipes(empty):
    lab = empty
    first = lab.json("image", "flags", "vllm-node-mxfp4", "--on", "node2")
    assert (first["read"], first["node"], first["version"]) == (True, "node2", "0.1.dev12777+mxfp4")
    assert first["added"] == ["mxfp4-backend", "mxfp4-layers"]
    versions = {"flashinfer": "0.6.1", "ray": "2.53.0", "torch": "2.11.0.dev20260105+cu130"}
    assert first["software"] == {"vllm": "0.1.dev12777+mxfp4", "nccl": "2.28.9", **versions}
    again = lab.json("image", "flags", GPT)
    assert (again["read"], again["table"]) == (False, first["table"])
    assert lab.json("image", "flags", GPT, "--fresh")["read"] is True
    assert lab.json("image", "flags", "vllm-node")["software"]["nccl"] == "2.30.4"
    refused = lab.json("plan", "--topology", "solo", "--set", "args.seeed=1", code=3)
    assert "is not a flag of vLLM 0.1.dev12777+mxfp4 of vllm-node-mxfp4" in refused["error"]["message"]
    (lab.work / "mine.yml").write_text("model: m\ncontainer: vllm-node\nargs: {mxfp4-layers: moe}\n")
    ran = lab.cli("lint", "mine.yml", lab=False, code=3)
    assert "--mxfp4-layers (mine.yml:3) is not a flag of vLLM 0.32.0 of vllm-node" in ran.out
    assert "has the image nobody/knows" in lab.cli("image", "flags", "nobody/knows", code=3).err
    ran = lab.cli("image", "flags", "ghcr.io/berriai/litellm:v1.100.0", code=5)
    assert "this image has no make_arg_parser" in ran.err
    assert lab.containers() == set()


def test_mods_are_built_into_an_image_that_then_serves(empty):
    lab = empty
    (lab.work / "theirs.yaml").write_text(THEIRS + "mods: [mods/fix-it, mods/drop-caches]\n")
    place = lab.work / "a checkout" / "mods" / "fix-it"
    place.mkdir(parents=True)
    (place / "run.sh").write_text("#!/bin/sh\ntrue\n")
    words = ("--recipe", "theirs.yaml", "--topology", "solo")
    refused = lab.json("deploy", *words, code=3)["error"]
    assert "(with the mods fix-it) is missing [image-present]" in refused["message"]
    missing = lab.cli("image", "build", "theirs.yaml", "--mods", lab.base, code=3)
    assert "these mods do not exist: fix-it; looked for mods/fix-it and fix-it in" in missing.err
    built = lab.json("image", "build", "theirs.yaml", "--mods", lab.work / "a checkout")
    assert built["image"].startswith("sparkops-mods/vllm-node-mxfp4:latest-with-fix-it-")
    assert lab.json("image", "build", "theirs.yaml", "--mods", lab.work / "a checkout")["changed"] is False
    assert lab.json("deploy", *words)["changed"] is True
    assert lab.serves("node1")
