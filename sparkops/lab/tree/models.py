"""Models in the node's Hugging Face cache: real names and sizes, empty (sparse) content, content-addressed as the hub does it."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

from sparkops.lab.layout import Node

GIB = 1024**3

MODELS: dict[str, dict[str, Any]] = {
    "openai/gpt-oss-120b": {
        "revision": "b5c939de8f754692c1647ca79fbf85e8c1e70f8a",
        "shards": 15,
        "gib": 60.8,
        "config": {
            "architectures": ["GptOssForCausalLM"],
            "model_type": "gpt_oss",
            "hidden_size": 2880,
            "num_hidden_layers": 36,
            "num_attention_heads": 64,
            "num_key_value_heads": 8,
            "num_local_experts": 128,
            "vocab_size": 201088,
            "max_position_embeddings": 131072,
            "quantization_config": {"quant_method": "mxfp4"},
        },
    },
    "Qwen/Qwen3-Next-80B-A3B-Instruct-FP8": {
        "revision": "c1f8c5f3a8b4d9e0f27a6a1be2d4b1c9a7e35f60",
        "shards": 8,
        "gib": 76.4,
        "config": {
            "architectures": ["Qwen3NextForCausalLM"],
            "model_type": "qwen3_next",
            "hidden_size": 2048,
            "num_hidden_layers": 48,
            "num_attention_heads": 16,
            "num_key_value_heads": 2,
            "num_experts": 512,
            "vocab_size": 151936,
            "max_position_embeddings": 262144,
            "quantization_config": {"quant_method": "fp8", "fmt": "e4m3", "weight_block_size": [128, 128]},
        },
    },
}


def hub(node: Node) -> Path:
    return Path(node.home, ".cache", "huggingface", "hub")


def place(node: Node) -> None:
    """Write every model; the `no-model` fault moves the whole `hub` directory away instead."""
    for name, model in MODELS.items():
        _model(hub(node) / f"models--{name.replace('/', '--')}", name, model)


def _model(home: Path, name: str, model: dict[str, Any]) -> None:
    snapshot = home / "snapshots" / model["revision"]
    for directory in (snapshot, home / "blobs", home / "refs"):
        directory.mkdir(parents=True, exist_ok=True)
    (home / "refs" / "main").write_text(model["revision"])
    count = model["shards"]
    shards = [f"model-{number:05d}-of-{count:05d}.safetensors" for number in range(1, count + 1)]
    texts = {
        "config.json": json.dumps(model["config"], indent=2),
        "generation_config.json": json.dumps({"do_sample": True}),
        "tokenizer_config.json": json.dumps({"tokenizer_class": "PreTrainedTokenizerFast"}),
        "tokenizer.json": json.dumps({"version": "1.0", "model": {"type": "BPE", "vocab": {}, "merges": []}}),
        "model.safetensors.index.json": json.dumps(
            {
                "metadata": {"total_size": int(model["gib"] * GIB)},
                "weight_map": {f"model.layers.{number}.weight": shard for number, shard in enumerate(shards)},
            }
        ),
    }
    for file, text in texts.items():
        digest = hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()
        (home / "blobs" / digest).write_text(text)
        os.symlink(f"../../blobs/{digest}", snapshot / file)
    size = int(model["gib"] * GIB) // count
    for shard in shards:
        digest = hashlib.sha256(f"{name}/{shard}".encode()).hexdigest()
        with open(home / "blobs" / digest, "wb") as stream:
            stream.truncate(size)
        os.symlink(f"../../blobs/{digest}", snapshot / shard)
