"""The models of the lab: real names and sizes, content that takes no room, content-addressed as the hub does it."""

import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sparklab.layout import Node
from sparklab.tree import tokenizer, weights

GIB = 1024**3
TOKEN = "hf_lab"
"""The token that opens the gated model."""


@dataclass(frozen=True)
class Model:
    """`beside` are files of the hub that nobody needs to serve it. What is `cached` is on every node from the start."""

    revision: str
    shards: int
    gib: float
    config: dict[str, Any]
    beside: tuple[tuple[str, float], ...] = ()
    cached: bool = False
    gated: bool = False


@dataclass(frozen=True)
class File:
    """A file of a snapshot: small with all its content, or a head with a hole behind."""

    path: str
    head: bytes
    length: int

    @property
    def large(self) -> bool:
        return self.length > len(self.head)

    @property
    def blob(self) -> str:
        if self.large:
            return weights.digest(self.length, self.head)
        return hashlib.sha1(b"blob %d\0" % self.length + self.head, usedforsecurity=False).hexdigest()


GPT_OSS = {
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
}
QWEN_NEXT = {
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
}
MODELS: dict[str, Model] = {
    "openai/gpt-oss-120b": Model(
        "b5c939de8f754692c1647ca79fbf85e8c1e70f8a", 15, 60.8, GPT_OSS, cached=True,
        beside=(("original/model--00001-of-00007.safetensors", 8.7), ("metal/model.bin", 60.8)),
    ),
    "openai/gpt-oss-20b": Model(
        "d666cf3b67006cf8227666739edf25164aaffdeb", 3, 12.8, {**GPT_OSS, "num_hidden_layers": 24, "num_local_experts": 32},
        beside=(("original/model.safetensors", 12.8), ("metal/model.bin", 12.8)),
    ),
    "Qwen/Qwen3-Next-80B-A3B-Instruct-FP8": Model(
        "c1f8c5f3a8b4d9e0f27a6a1be2d4b1c9a7e35f60", 8, 76.4, QWEN_NEXT, cached=True
    ),
    "Qwen/Qwen3-Coder-Next-FP8": Model("70c1b1e5d1d94c7f9a4e2b8c3d6f5a0718293a4b", 40, 74.9, QWEN_NEXT),
    "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-NVFP4": Model(
        "8f2a6c9d4e1b7053a8c6d2e9f4b10375c8d9e0f1", 5, 18.1, {"model_type": "nemotron_h", "vocab_size": 131072}
    ),
    "cyankiwi/MiniMax-M2.5-AWQ-4bit": Model(
        "3e5d7c9b1a2f4e6d8c0b9a8f7e6d5c4b3a291807", 27, 125.3, {"model_type": "minimax_m2", "vocab_size": 200064}
    ),
    "meta-llama/Llama-3.3-70B-Instruct": Model(
        "6f6073b423013f6a7d4d9f39144961bfbfbc386b", 30, 131.4, {"model_type": "llama", "vocab_size": 128256}, gated=True
    ),
}  # fmt: skip


def hub(node: Node) -> Path:
    return Path(node.home, ".cache", "huggingface", "hub")


def place(node: Node) -> None:
    """Write the cached models; the `no-model` fault moves the whole `hub` directory away instead."""
    for name, model in MODELS.items():
        if model.cached:
            write(hub(node) / f"models--{name.replace('/', '--')}", model.revision, files(name, model))


def files(name: str, model: Model) -> Iterator[File]:
    """What a server loads."""
    count, length = model.shards, int(model.gib * GIB) // model.shards
    shards = [f"model-{number:05d}-of-{count:05d}.safetensors" for number in range(1, count + 1)]
    weight_map = {f"model.layers.{number}.weight": shard for number, shard in enumerate(shards)}
    texts = {
        "config.json": json.dumps(model.config, indent=2),
        "generation_config.json": json.dumps({"do_sample": True}),
        "tokenizer_config.json": json.dumps({"tokenizer_class": "PreTrainedTokenizerFast"}),
        "tokenizer.json": tokenizer.text(),
        "model.safetensors.index.json": json.dumps(
            {"metadata": {"total_size": int(model.gib * GIB)}, "weight_map": weight_map}
        ),
    }
    for path, text in texts.items():
        yield File(path, text.encode(), len(text.encode()))
    for shard in shards:
        yield File(shard, weights.head(f"{name}/{shard}", length), length)


def beside(name: str, model: Model) -> Iterator[File]:
    for path, gib in model.beside:
        yield File(path, weights.head(f"{name}/{path}", int(gib * GIB)), int(gib * GIB))


def write(home: Path, revision: str, found: Iterable[File]) -> None:
    """A model's directory of the Hugging Face cache: blobs by their hash, a snapshot of links, `refs/main`."""
    snapshot = home / "snapshots" / revision
    for directory in (snapshot, home / "blobs", home / "refs"):
        directory.mkdir(parents=True, exist_ok=True)
    (home / "refs" / "main").write_text(revision)
    for file in found:
        weights.make(home / "blobs" / file.blob, file.head, file.length)
        os.symlink(f"../../blobs/{file.blob}", snapshot / file.path)
