"""Recipes of other launchers on nodes: their limits hold, their mods are built in, and then they serve."""

from __future__ import annotations

THEIRS = r"""recipe_version: "1"
name: Theirs
container: vllm-node-mxfp4
solo_only: true
defaults: {port: 8000, host: 0.0.0.0, gpu_memory_utilization: 0.70}
env:
  VLLM_USE_FLASHINFER_MOE_MXFP4_MXFP8: "1"
command: |
  vllm serve openai/gpt-oss-120b \
      --quantization mxfp4 --mxfp4-backend CUTLASS \
      --mxfp4-layers moe,qkv,o,lm_head \
      --attention-backend FLASHINFER --kv-cache-dtype fp8 \
      --max-model-len 4096 --max-num-seqs 2 \
      --gpu-memory-utilization {gpu_memory_utilization} \
      --host {host} --port {port}
"""


def test_a_recipe_for_one_node_is_refused_for_two_unless_allowed(empty):
    lab = empty
    (lab.work / "theirs.yaml").write_text(THEIRS)
    words = ("plan", "--recipe", "theirs.yaml", "--topology", "cluster")
    refused = lab.json(*words, code=3)
    assert "topology-allowed" in refused["error"]["message"]
    plan = lab.json(*words, "--allow", "topology-allowed")
    commands = " ".join(step["command"] for step in plan["steps"])
    assert "--mxfp4-layers moe,qkv,o " in commands
    assert "--enforce-eager" in commands
    assert lab.changed() == []


def test_mods_are_built_into_an_image_that_then_serves(empty):
    lab = empty
    (lab.work / "theirs.yaml").write_text(THEIRS + "mods: [mods/fix-it, mods/drop-caches]\n")
    place = lab.work / "a checkout" / "mods" / "fix-it"
    place.mkdir(parents=True)
    (place / "run.sh").write_text("#!/bin/sh\ntrue\n")
    words = ("--recipe", "theirs.yaml", "--topology", "solo")
    refused = lab.json("deploy", *words, code=3)["error"]
    assert "(with the mods fix-it) is not there [image-present]" in refused["message"]
    missing = lab.cli("image", "build", "theirs.yaml", "--mods", lab.base, code=3)
    assert "the mods fix-it are not there: looked for mods/fix-it and fix-it in" in missing.err
    built = lab.json("image", "build", "theirs.yaml", "--mods", lab.work / "a checkout")
    assert built["image"].startswith("sparkops-mods/vllm-node-mxfp4:latest-with-fix-it-")
    assert lab.json("image", "build", "theirs.yaml", "--mods", lab.work / "a checkout")["changed"] is False
    assert lab.json("deploy", *words)["changed"] is True
    assert lab.serves("node1")
