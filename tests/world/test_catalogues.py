"""Recipes of a catalogue on simulated nodes: what runs is known by the commit, whatever the catalogue does later."""

from pathlib import Path

from support.person import THEIRS
from support.world import Lab

MODEL_FILE = """\
model:
  model_id: openai/gpt-oss-120b
  docker_image: vllm-node-mxfp4
  base_args: ["--max-model-len", "4096"]
variants:
  default: {vram_minimum_gb: 96}
  small: {vram_minimum_gb: 96, extra_args: ["--max-model-len", "2048"]}
compatible_strategies: [single_node_tp, multi_node_tp]
"""


def added(lab: Lab, tmp_path: Path) -> str:
    """A catalogue `them`; the first digits of its state."""
    folder = tmp_path / "their recipes"
    folder.mkdir()
    (folder / "gpt.yaml").write_text(THEIRS)
    (folder / "file.yaml").write_text(MODEL_FILE)
    found = lab.json("recipe", "add", folder, "--name", "them")
    return str(found["catalogue"]["commit"]).rpartition(":")[2][:12]


def test_a_deploy_of_a_recipe_of_a_catalogue_says_at_which_commit_it_was_read(lab: Lab, tmp_path: Path) -> None:
    commit = added(lab, tmp_path)
    planned = lab.json("plan", "--topology", "solo", "--recipe", "them/gpt")
    assert planned["recipe_source"] == f"them@{commit}/gpt.yaml"
    origins = {one["flag"]: one["origin"] for one in planned["settings"] if "flag" in one}
    assert origins["--max-num-seqs"] == f"them@{commit}/gpt.yaml:13"
    assert (
        f"recipe them/gpt, from them@{commit}/gpt.yaml"
        in lab.cli("plan", "--topology", "solo", "--recipe", "them/gpt").out
    )
    done = lab.deploy("solo", "--recipe", "them/gpt")
    assert (done["deployment"], done["recipe"], done["recipe_source"]) == (
        "them-gpt",
        "them/gpt",
        f"them@{commit}/gpt.yaml",
    )
    lab.cli("recipe", "remove", "them", code=0)
    assert lab.state() == {"them-gpt": "serving"}


def test_a_variant_of_a_model_file_is_deployed_on_one_node_and_over_both(lab: Lab, tmp_path: Path) -> None:
    added(lab, tmp_path)
    alone = lab.deploy("solo", "--recipe", "them/file#small")
    assert alone["deployment"] == "them-file-small"
    flags = {
        one["flag"]: one["value"]
        for one in lab.json("plan", "--topology", "cluster", "--recipe", "them/file")["settings"]
        if "flag" in one
    }
    assert (flags["--tensor-parallel-size"], flags["--max-model-len"]) == (2, 4096)
    assert lab.deploy("cluster", "--recipe", "them/file")["changed"]
