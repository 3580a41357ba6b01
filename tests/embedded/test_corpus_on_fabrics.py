"""Other people's recipes for three and more nodes, with their own sizes, on each fabric that connects so many."""

from dataclasses import replace
from pathlib import Path

import pytest

from sparklab.tree import models
from sparkops.core.effective import Effective, Overrides, effective
from sparkops.errors import SparkopsError
from sparkops.files import recipes
from support.paths import CORPUS

LACKING = ("model-present", "unknown-flag", "topology-allowed")
CONFIG = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 48,
    "num_attention_heads": 96, "num_key_value_heads": 24, "vocab_size": 32000, "max_position_embeddings": 1 << 21,
}  # fmt: skip
"""In place of each model, with heads that each size of these recipes divides; some authors patch theirs for that."""


def spanning(nodes: int) -> dict[str, Effective]:
    """The recipes whose sizes need so many, by their files."""
    found = {}
    for path in sorted(CORPUS.rglob("*.y*ml")):
        try:
            found[str(path)] = effective(recipes.recipe(str(path)), "cluster", Overrides())
        except SparkopsError:
            continue
    return {file: one for file, one in found.items() if one.span == nodes}


def provide(lab, wanted: Effective) -> None:
    """The model and the image of a recipe, also that with its mods, on all nodes."""
    made = replace(models.MODELS["openai/gpt-oss-120b"], gib=8.0, config=CONFIG)
    for name in lab.names:
        home = Path(lab.node(name, "home/.cache/huggingface/hub", f"models--{wanted.model.replace('/', '--')}"))
        if not home.exists():
            models.write(home, made.revision, models.files(wanted.model, made))
        lab.on(name, "docker", "tag", "vllm-node", wanted.image)


@pytest.mark.parametrize(("nodes", "fabric"), [(3, "triangle"), (4, "ring")])
def test_recipes_of_others_serve_with_their_sizes_and_over_a_ring_without_ray(lab_with, nodes, fabric):
    """Refused is only what this lab lacks for them: their own models, or builds of vLLM with flags of their own.

    Five of them; tests/world plans them all.
    """
    every = spanning(nodes)
    found = {file: every[file] for file in [*every][:: 1 + len(every) // 5]}
    if not found:
        pytest.skip(f"no recipes in {CORPUS}")
    lab = lab_with(nodes=nodes, fabric=fabric, speed=60.0)  # ranks wait 10 minutes for each other, so 10 s here
    served = 0
    for file, wanted in found.items():
        provide(lab, wanted)
        words = ("deploy", "--topology", "cluster", "--recipe", file, "--allow", "not-carried-over", "--json")
        ran = lab.cli(*words, code=None)
        if "Ray cannot use a ring" in ran.out:
            assert "use --executor mp" in ran.document["error"]["hint"]
            ran = lab.cli(*words, "--executor", "mp", code=None)
        if ran.code:
            assert any(f"[{reason}]" in ran.out for reason in LACKING) or "does not know these arguments" in ran.out
            continue
        assert list(lab.state().values()) == ["serving"], file
        assert len(lab.running()) == nodes
        lab.cli("stop", "--remove", code=0)
        served += 1
    assert served >= len(found) / 2
