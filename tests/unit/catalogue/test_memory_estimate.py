"""The memory estimate against what boot logs reported, and what it says when something does not fit."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from sparkops.core import model_config, models
from sparkops.core.effective import Effective, Overrides, effective
from sparkops.core.memory_estimate import GB10_KIB, bytes_per_token, estimate
from sparkops.core.models import Architecture, KnownModel
from sparkops.core.recipe import Metadata, Recipe, Setting
from sparkops.core.topology import Shape
from sparkops.files import recipes
from support import golden
from support.values import fields_said, told

HERE = Path(__file__).parent
SOLO, CLUSTER = Shape("solo", 1, "ray", "solo"), Shape("cluster", 2, "ray", "cluster")
FOUR = Shape("cluster", 4, "ray", "cluster")
SHAPES = {"solo": SOLO, "cluster": CLUSTER, "cluster-of-4": FOUR}
MINIMAX, GPT = "cyankiwi/MiniMax-M2.5-AWQ-4bit", "openai/gpt-oss-120b"
QWEN = "Qwen/Qwen3-Next-80B-A3B-Instruct-FP8"
CONFIGS: dict[str, Any] = json.loads((HERE / "configs.json").read_text())
"""The models' published configurations, the keys that matter, and their layers."""


def settings(model: str, image: str = "vllm-node", weights: float | None = None, **args: Any) -> Effective:
    recipe = Recipe("r", "r.yml", model, image, recipes.flag_table(), metadata=Metadata(weights_gib=weights))
    named = {name.replace("_", "-"): Setting(value, "r.yml:1") for name, value in args.items()}
    return Effective(recipe, image, named, {}, ())


TINY = models.of(
    "/opt/models/tiny-llama",
    Architecture(heads=4, kv_heads=2, head_dim=32, hidden=128, vocab=4096, context=4096, full=2),
    2_700_000 / 2**30,
    "config.json",
)


def gib(value: float) -> Any:
    return pytest.approx(value, abs=1e-6)


MEASURED: tuple[tuple[Any, Shape, dict[str, Any], dict[str, Any]], ...] = (
    # What real vLLMs logged of a tiny model: vllm-solo-then-worker-killed.log, vllm-solo-compile-safetensors.log and
    # vllm-mp-rank0.log, where each rank of TP 2 has half of the heads.
    (TINY, SOLO, {"max_model_len": 2048, "kv_cache_memory_bytes": 2**30}, {"tokens": 2_097_152, "sequences": 1024.0}),
    (TINY, SOLO, {"max_model_len": 1024, "kv_cache_memory_bytes": 2**26}, {"tokens": 131_072, "sequences": 128.0}),
    (TINY, CLUSTER, {"max_model_len": 2048, "kv_cache_memory_bytes": 2**30}, {"tokens": 4_194_304}),
    # spark-vllm-docker #396: 23.25 GiB for 196608 tokens; 22.5 GiB of room at 0.80 and 28.74 at 0.85.
    (
        MINIMAX,
        CLUSTER,
        {"gpu_memory_utilization": 0.8},
        {
            "per_sequence": pytest.approx(23.25, abs=0.005),
            "kv_cache": pytest.approx(22.5, abs=1),
            "longest": pytest.approx(190_272, rel=0.03),
        },
    ),
    (
        MINIMAX,
        CLUSTER,
        {"gpu_memory_utilization": 0.85},
        {"kv_cache": pytest.approx(28.74, abs=1), "tokens": pytest.approx(240_816, rel=0.02)},
    ),
    # llama.cpp allocates 4608 MiB in 16 bits for the 18 full layers of gpt-oss at 131072 tokens.
    (GPT, SOLO, {"gpu_memory_utilization": 0.7}, {"kv_per_token": 4608 * 1024 / 131072}),
    # The states of recurrent layers are counted once a sequence.
    (QWEN, SOLO, {"max_model_len": 1024}, {"per_sequence": gib(36 * 2096 / 2**20 + 1024 * 24 / 2**20)}),
    (QWEN, SOLO, {"max_model_len": 2048}, {"per_sequence": gib(36 * 2096 / 2**20 + 2048 * 24 / 2**20)}),
    # Pipeline stages share layers; data parallel ranks only the experts, 57 GiB of gpt-oss-120b (its config.json).
    (MINIMAX, FOUR, {"pipeline_parallel_size": 4}, {"weights": 125 / 4}),
    (GPT, CLUSTER, {"data_parallel_size": 2}, {"weights": pytest.approx(3.96 + (61 - 3.96) / 2, abs=0.01)}),
)


def test_an_estimate_is_what_was_measured() -> None:
    for model, shape, args, measured in MEASURED:
        own = model if isinstance(model, KnownModel) else None
        found = estimate(replace(settings(own.id if own else model, **args), on_node=own), shape)
        assert {name: getattr(found, name) for name in measured} == measured, (model, shape, args)


def told_of(line: str) -> str:
    """Of `MODEL SHAPE NAME=VALUE …`, where `image`, `weights` and `free` (KiB) are no arguments of the engine."""
    model, shape, *words = line.split()
    given = {name: yaml.safe_load(value) for name, _, value in (word.partition("=") for word in words)}
    free = given.pop("free", None)
    found = estimate(settings(model, **given), SHAPES[shape], GB10_KIB, free)
    known = {name: round(value, 4) if isinstance(value, float) else value for name, value in fields_said(found).items()}
    return "\n".join(f"{name} {told(value)}" for name, value in known.items())


def test_an_estimate_is_what_its_file_says() -> None:
    golden.hold_lines(HERE / "estimates.txt", told_of)


@pytest.mark.parametrize("name", recipes.recipe_names())
@pytest.mark.parametrize("shape", [SOLO, CLUSTER], ids=["solo", "cluster"])
@pytest.mark.parametrize(
    "setting",
    [*(f"gpu-memory-utilization={share}" for share in (0.3, 0.5, 0.7, 0.8, 0.9, 0.99)),
     *(f"kv-cache-memory-bytes={size * 2**30}" for size in (1, 10, 60, 100))],
)  # fmt: skip
def test_what_would_fit_does_fit(name: str, shape: Shape, setting: str) -> None:
    """Each option is words of a command line, and taken as such it leads to an estimate that is no refusal."""
    recipe = recipes.recipe(name)
    base = (f"args.{setting}",)
    found = estimate(effective(recipe, shape.kind, Overrides(base)), shape)
    for option in found.would_fit:
        larger = option.startswith("--topology")
        if larger:
            shape = Shape("cluster", int(option.split()[-2]), "ray", "cluster")
        sets = tuple(word for word in option.split(" (")[0].split() if word.startswith("args."))
        then = estimate(effective(recipe, shape.kind, Overrides((*base, *sets))), shape)
        assert then.kv_cache is not None
        assert then.kv_cache > 0 or then.fit != "no"
        if not larger:
            assert then.fit in ("fits", "tight"), (option, then)


@pytest.mark.parametrize("said", [4 << 30, str(4 << 30), "4G"])
def test_a_cache_of_a_given_size_counts_in_each_way_to_write_it(said: object) -> None:
    words = Overrides((f"args.kv-cache-memory-bytes={said}",))
    found = estimate(effective(recipes.recipe("nemotron-3-nano-nvfp4"), SOLO.kind, words), SOLO)
    assert found.kv_cache == 4


@pytest.mark.parametrize("name", CONFIGS)
def test_the_table_is_what_the_published_configuration_gives(name: str) -> None:
    config, layers = CONFIGS[name]["config"], CONFIGS[name]["layers"]
    known = models.MODELS[name]
    found = models.of(name, model_config.architecture(config), known.weights_gib, known.source)
    assert {part: getattr(found, part) for part in layers} == layers
    assert replace(found, reads=known.reads, mxfp4=known.mxfp4) == known


YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}


@pytest.mark.parametrize(
    ("changes", "context"),
    [
        ({}, 40960),
        ({"rope_scaling": YARN}, 131072),
        ({"rope_parameters": {"full_attention": YARN, "sliding_attention": {"rope_type": "default"}}}, 131072),
        ({"rope_scaling": {"type": "linear", "factor": 2}}, 81920),
        ({"rope_scaling": {"rope_type": "llama3", "factor": 8.0}}, 40960),
        ({"rope_scaling": {"rope_type": "yarn", "factor": float("inf")}}, 40960),
        ({"rope_scaling": "yarn"}, 40960),
        ({"rope_scaling": {**YARN, "original_max_position_embeddings": "32768"}}, 163840),
        ({"model_max_length": 131072}, 131072),
        ({"model_max_length": 4096}, 4096),
        ({"rope_scaling": {"factor": 8.0}, "model_type": "gemma3_text"}, 40960),
    ],
)
def test_the_context_is_what_vllm_derives_from_the_positions_and_their_scaling(
    changes: dict[str, Any], context: int
) -> None:
    config = {"num_attention_heads": 64, "hidden_size": 5120, "num_hidden_layers": 64, "vocab_size": 151936}
    found = model_config.architecture({**config, "model_type": "qwen3", "max_position_embeddings": 40960, **changes})
    assert found.context == context


def test_a_token_reads_less_the_more_layers_are_quantised() -> None:
    def read(layers: str | None) -> float:
        wanted = {} if layers is None else {"mxfp4_layers": layers}
        found = bytes_per_token(settings(GPT, "vllm-node-mxfp4", **wanted))
        assert found is not None
        return found

    assert read(None) > read("moe,qkv,o") > read("moe,qkv,o,lm_head") == read("all")
    assert read("moe,qkv,o") - read("all") == pytest.approx(1.158 - 0.308, abs=0.01), "lm_head: 1.16 GB in 16 bits"
    assert 273 / read("all") == pytest.approx(107, rel=0.1), "the article's napkin says 107 tokens/s"
    assert bytes_per_token(settings("who/knows")) is None


def drafted(name: str, **args: Any) -> Effective:
    return settings(QWEN, max_model_len=1024, speculative_config={"method": "eagle3", "model": name}, **args)


def test_a_draft_model_takes_memory_for_its_weights_and_its_keys_and_values() -> None:
    alone = estimate(settings(QWEN, max_model_len=1024), CLUSTER)
    known = estimate(drafted("openai/gpt-oss-20b"), CLUSTER)
    assert alone.weights is not None
    assert known.weights == alone.weights + 13 / 2
    assert known.kv_per_token == 12 + 12 * 2 * 4 * 64 * 2 / 1024, "half of the heads of 12 full layers each"
    measured = estimate(drafted("acme/draft"), CLUSTER, draft_gib=3.0)
    assert (measured.weights, measured.fit) == (alone.weights + 1.5, alone.fit)


def test_an_estimate_says_that_the_size_of_a_draft_model_is_unknown() -> None:
    found = estimate(drafted("acme/draft"), CLUSTER)
    assert (found.fit, found.reason) == ("unknown", "the size of the draft model acme/draft is unknown")
    assert found.sequences is not None
