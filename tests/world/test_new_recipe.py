"""`recipe new` as whole command lines: from a directory and from a hub, and what the nodes' files say of a model."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.model_hub import StandInHub, serve
from support.world import Lab

MODEL = "Qwen/Qwen3-32B"
CONFIG = {
    "architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "num_attention_heads": 64, "num_key_value_heads": 8,
    "head_dim": 128, "hidden_size": 5120, "num_hidden_layers": 64, "vocab_size": 151936,
    "max_position_embeddings": 40960, "torch_dtype": "bfloat16",
}  # fmt: skip
COMMIT = "9216db5781bf21249d130ec9da846c4624c16137"


def files(folder: Path, gib: float = 61.0, **changed: Any) -> Path:
    """A model's files; the weights are a file without content."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps({**CONFIG, **changed}))
    with (folder / "model.safetensors").open("wb") as file:
        file.truncate(int(gib * 2**30))
    return folder


def test_a_recipe_from_a_directory_is_linted_fetched_planned_and_deployed(lab: Lab) -> None:
    made = lab.json("recipe", "new", MODEL, "--from", files(lab.work / "model"))
    assert (made["file"], made["topology"], made["commit"], made["others"]) == (
        "recipes/qwen3-32b.yml", "solo", None, [],
    )  # fmt: skip
    assert {"args.max-model-len": 40960, "args.tool-call-parser": "hermes"}.items() <= {
        one["key"]: one["value"] for one in made["values"]
    }.items()
    assert all(one["reason"] for one in made["values"])
    lab.cli("lint", made["file"], code=0)
    shown = lab.json("recipe", "show", made["file"])
    assert (shown["memory"]["fit"], shown["memory"]["weights"], shown["memory"]["kv_per_token"]) == ("fits", 61.0, 256)
    assert [one["fits"] for one in lab.json("recipe", "list")["recipes"] if one["name"] == "qwen3-32b"] == [
        [{"topology": kind, "fit": "fits", "reason": ""} for kind in ("solo", "2x-solo", "cluster")]
    ]
    lab.cli("model", "fetch", MODEL, "--limit", "node1", code=0)
    assert lab.deploy("solo", "--recipe", "qwen3-32b")["ok"] is True
    assert lab.state() == {"qwen3-32b": "serving"}
    plan = ("plan", "--topology", "solo", "--recipe")
    longer = lab.json(*plan, "qwen3-32b", "--set", "args.max-model-len=65536", code=3)["error"]["message"]
    assert "--max-model-len 65536 is above the 40960 tokens" in longer
    assert (
        lab.json(*plan, "recipes/qwen3-32b", code=2)["error"]["message"]
        == "recipes/qwen3-32b: no such file (did you mean recipes/qwen3-32b.yml?)"
    )


def test_a_cache_of_hugging_face_is_read_by_its_branch(lab: Lab) -> None:
    repo = lab.home / ".cache/huggingface/hub/models--Qwen--Qwen3-32B"
    files(repo / "snapshots" / COMMIT)
    (repo / "refs").mkdir()
    (repo / "refs/main").write_text(f"{COMMIT}\n")
    for place in (repo, repo.parent, repo.parent.parent):
        assert lab.json("recipe", "new", MODEL, "--from", place, "--force")["commit"] == COMMIT
    assert lab.json("recipe", "new", MODEL, "--from", repo, "--revision", COMMIT, "--force")["revision"] == COMMIT
    assert f'revision: "{COMMIT}"' in (lab.work / "recipes/qwen3-32b.yml").read_text()
    refused = lab.json("recipe", "new", "acme/none", "--from", repo.parent, code=2)["error"]
    assert "is no cache with acme/none" in refused["message"]


def test_a_file_is_never_overwritten_unasked_and_a_failure_writes_none(lab: Lab) -> None:
    place = files(lab.work / "model")
    lab.cli("recipe", "new", MODEL, "--from", place, code=0)
    kept = (lab.work / "recipes/qwen3-32b.yml").read_text()
    refused = lab.json("recipe", "new", MODEL, "--from", place, code=2)["error"]
    assert refused["message"] == "recipes/qwen3-32b.yml already exists"
    lab.cli("recipe", "new", MODEL, "--from", files(place, gib=900), "--force", code=3)
    lab.cli("recipe", "new", MODEL, "--from", files(place, torch_dtype=[1]), "--topology", "cluster", "-o", "b.yml")
    (place / "config.json").write_text("[" * 100_000)
    assert (
        "must end with .yml" in lab.json("recipe", "new", MODEL, "--from", place, "-o", "c", code=2)["error"]["message"]
    )
    for words in ((MODEL, "--force"), ("/models/x",), ("x y",), ("acme/a", "--revision", "../..")):
        ran = lab.cli("recipe", "new", *words, "--from", place, "-o", "c.yml", code=2)
        assert "Traceback" not in ran.told
    assert (lab.work / "recipes/qwen3-32b.yml").read_text() == kept
    assert not (lab.work / "c.yml").exists()
    assert list(lab.work.rglob("*.part")) == []


def test_a_model_too_large_names_the_nodes_that_would_be_enough(lab: Lab) -> None:
    place = files(lab.work / "model", gib=300)
    refused = lab.json("recipe", "new", MODEL, "--from", place, code=3)["error"]
    assert "does not fit into 2 nodes of 128 GB: 300 GiB of weights" in refused["message"]
    assert "4 nodes: --topology cluster" in refused["hint"]
    made = lab.json("recipe", "new", MODEL, "--from", place, "--topology", "cluster")
    assert made["warnings"] == ["the recipe needs 4 nodes, and you have 2"]
    small = lab.json("recipe", "new", MODEL, "--from", files(place), "--memory", "64", "--force")
    assert (small["topology"], {"tensor-parallel-size"} & {one["key"][5:] for one in small["values"]}) == (
        "cluster", {"tensor-parallel-size"},
    )  # fmt: skip


@pytest.fixture
def hub() -> Iterator[tuple[StandInHub, dict[str, str]]]:
    made = StandInHub()
    made.add(MODEL, COMMIT, {"config.json": json.dumps(CONFIG).encode(), "model.safetensors": b"w" * 2000})
    server = serve(made)
    yield made, {"HF_ENDPOINT": f"http://127.0.0.1:{server.server_address[1]}"}
    server.shutdown()
    server.server_close()


def test_a_recipe_from_the_hub_names_the_commit_that_was_read(lab: Lab, hub: tuple[StandInHub, dict[str, str]]) -> None:
    stand_in, env = hub
    made = lab.json("recipe", "new", MODEL, **env)
    assert (made["commit"], made["origin"]) == (COMMIT, env["HF_ENDPOINT"])
    assert COMMIT in (lab.work / made["file"]).read_text()
    stand_in.gated.add(MODEL)
    refused = lab.json("recipe", "new", MODEL, "--force", code=2, **env)["error"]
    assert "$HF_TOKEN" in refused["hint"]


def test_a_model_that_only_its_files_on_the_nodes_describe_is_judged_by_them(lab: Lab) -> None:
    """The recipe says neither size nor architecture. The simulated hub's model has 56 GiB of weights."""
    (lab.work / "hand.yml").write_text(
        f"model: {MODEL}\ncontainer: vllm-node\nmounts: [tiktoken_rs, ccache, flashinfer, vllm, huggingface]\n"
        "args: {gpu-memory-utilization: 0.5}\n"
    )
    assert lab.json("recipe", "show", "hand.yml")["memory"]["fit"] == "unknown"
    for node in lab.world.nodes.values():
        node.add_model(MODEL, config=json.dumps(CONFIG))
    refused = lab.json("plan", "--recipe", "hand.yml", "--topology", "solo", code=3)["error"]
    assert "56 GiB of weights and 9.7 GiB overhead exceed the engine's share of 61 GiB" in refused["message"]
    assert "would fit: --set args.gpu-memory-utilization=" in refused["hint"]
    found = lab.json("plan", "--recipe", "hand.yml", "--topology", "solo", "--set", "args.gpu-memory-utilization=0.57")
    told = [one for one in found["rules"] if one["id"] in ("model-memory", "memory-fits")]
    assert [(one["id"], one["action"]) for one in told] == [("model-memory", "warn")]
