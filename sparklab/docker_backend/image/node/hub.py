"""A Hugging Face cache that looks complete: real layout and configs, weights of a few bytes."""

import hashlib
import json
import os
import struct
from pathlib import Path

GPT_OSS = {
    "architectures": ["GptOssForCausalLM"],
    "model_type": "gpt_oss",
    "hidden_size": 2880,
    "head_dim": 64,
    "intermediate_size": 2880,
    "num_attention_heads": 64,
    "num_key_value_heads": 8,
    "num_hidden_layers": 36,
    "num_local_experts": 128,
    "num_experts_per_tok": 4,
    "experts_per_token": 4,
    "max_position_embeddings": 131072,
    "initial_context_length": 4096,
    "sliding_window": 128,
    "tie_word_embeddings": False,
    "vocab_size": 201088,
    "quantization_config": {"quant_method": "mxfp4"},
}
QWEN3_NEXT = {
    "architectures": ["Qwen3NextForCausalLM"],
    "model_type": "qwen3_next",
    "hidden_size": 2048,
    "head_dim": 256,
    "intermediate_size": 5120,
    "num_attention_heads": 16,
    "num_key_value_heads": 2,
    "num_hidden_layers": 48,
    "num_experts": 512,
    "num_experts_per_tok": 10,
    "max_position_embeddings": 262144,
    "tie_word_embeddings": False,
    "vocab_size": 151936,
    "quantization_config": {"quant_method": "fp8"},
}
MODELS = {
    "openai/gpt-oss-120b": ("b5c939de8f754692c1647ca79fbf85e8c1e70f8a", GPT_OSS, 14),
    "Qwen/Qwen3-Next-80B-A3B-Instruct-FP8": ("d68f16e9d3a6c2a1f0b3b6c1d2e4f5a6b7c8d9e0", QWEN3_NEXT, 8),
}


def tensors(name):
    """A valid safetensors file with one small tensor."""
    header = json.dumps({name: {"dtype": "BF16", "shape": [4], "data_offsets": [0, 8]}}).encode()
    return struct.pack("<Q", len(header)) + header + bytes(8)


def files(config, shards, tokenizer):
    """Name and content of each file of a snapshot."""
    yield "config.json", json.dumps(config, indent=2).encode()
    yield "generation_config.json", b'{"do_sample": true}'
    yield "tokenizer_config.json", b'{"tokenizer_class": "PreTrainedTokenizerFast"}'
    yield "tokenizer.json", tokenizer
    weights = {f"model.layers.{n}.weight": f"model-{n:05d}-of-{shards:05d}.safetensors" for n in range(1, shards + 1)}
    index = {"metadata": {"total_size": 8 * shards}, "weight_map": weights}
    yield "model.safetensors.index.json", json.dumps(index, indent=2).encode()
    for tensor, file in weights.items():
        yield file, tensors(tensor)


def write(cache, tokenizer):
    """Fill CACHE (`…/huggingface`) with every model: blobs by hash, snapshots of links, `refs/main`."""
    for model, (revision, config, shards) in MODELS.items():
        root = Path(cache) / "hub" / ("models--" + model.replace("/", "--"))
        snapshot = root / "snapshots" / revision
        for folder in (root / "blobs", root / "refs", snapshot):
            folder.mkdir(parents=True, exist_ok=True)
        (root / "refs/main").write_text(revision)
        for name, content in files(config, shards, tokenizer):
            blob = hashlib.sha256(content).hexdigest()
            (root / "blobs" / blob).write_bytes(content)
            link = snapshot / name
            link.unlink(missing_ok=True)
            os.symlink(f"../../blobs/{blob}", link)
