"""The architecture of models: what rules, the memory estimate and the bandwidth ceiling judge by.

An unknown model is judged by nothing here; `read` knows one from its own `config.json`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

MXFP4, NVFP4, AWQ4, FP8, BF16 = 4.25, 4.5, 4.5, 8.0, 16.0
"""Bits a weight, the scales of its block included."""


@dataclass(frozen=True)
class Weights:
    """Weights of one kind that every token reads: millions of them (of the experts only the active), and their bits."""

    name: str
    millions: float
    bits: float


@dataclass(frozen=True)
class KnownModel:
    """From the published configuration. `weights_gib` is what the engine loads, not what the hub stores."""

    id: str
    heads: int
    kv_heads: int
    head_dim: int
    hidden: int
    vocab: int
    context: int
    weights_gib: float
    full: int
    """Layers that keep keys and values of the whole context."""

    sliding: int = 0
    """Layers that keep those of the last `window` tokens."""

    window: int = 0
    recurrent: int = 0
    """Layers with a state of one size a sequence (Mamba, linear attention), of `state_kib` each."""

    state_kib: float = 0
    reads: tuple[Weights, ...] = ()
    mxfp4: bool = False
    source: str = ""


_OSS = KnownModel(
    id="openai/gpt-oss-120b", heads=64, kv_heads=8, head_dim=64, hidden=2880, vocab=201088, context=131072,
    weights_gib=61, full=18, sliding=18, window=128, mxfp4=True,
    reads=(Weights("moe", 3583, MXFP4), Weights("qkv", 531, BF16), Weights("o", 425, BF16),
           Weights("lm_head", 579, BF16), Weights("router", 13, BF16)),
    source="openai/gpt-oss-120b config.json: 36 layers, every second one sliding over 128 tokens; 4 of 128 experts",
)  # fmt: skip

_QWEN_NEXT = KnownModel(
    id="Qwen/Qwen3-Next-80B-A3B-Instruct-FP8", heads=16, kv_heads=2, head_dim=256, hidden=2048, vocab=151936,
    context=262144, weights_gib=75, full=12, recurrent=36, state_kib=2096,
    reads=(Weights("experts", 1661, FP8), Weights("attention", 327, FP8), Weights("linear attention", 1213, FP8),
           Weights("lm_head", 311, BF16), Weights("router", 50, BF16)),
    source="Qwen/Qwen3-Next-80B-A3B-Instruct config.json: 48 layers, every fourth with full attention; 10 of "
    "512 experts per token and 1 shared; 32 heads with a state of 128 x 128",
)  # fmt: skip

_MINIMAX = KnownModel(
    id="cyankiwi/MiniMax-M2.5-AWQ-4bit", heads=48, kv_heads=8, head_dim=128, hidden=3072, vocab=200064,
    context=196608, weights_gib=125, full=62,
    reads=(Weights("experts", 7021, AWQ4), Weights("attention", 2730, BF16), Weights("lm_head", 615, BF16),
           Weights("router", 49, BF16)),
    source="MiniMaxAI/MiniMax-M2.5 config.json: 62 layers, 8 of 256 experts; weights computed from it",
)  # fmt: skip

MODELS = {
    model.id: model
    for model in (
        _OSS,
        replace(
            _OSS, id="openai/gpt-oss-20b", weights_gib=13, full=12, sliding=12,
            reads=(Weights("moe", 2389, MXFP4), Weights("qkv", 354, BF16), Weights("o", 283, BF16),
                   Weights("lm_head", 579, BF16), Weights("router", 2, BF16)),
            source="openai/gpt-oss-20b config.json: 24 layers, every second one sliding; 4 of 32 experts",
        ),
        _QWEN_NEXT,
        replace(_QWEN_NEXT, id="Qwen/Qwen3-Next-80B-A3B-Thinking-FP8"),
        replace(_QWEN_NEXT, id="Qwen/Qwen3-Coder-Next-FP8"),
        KnownModel(
            id="nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-NVFP4", heads=32, kv_heads=2, head_dim=128, hidden=2688,
            vocab=131072, context=262144, weights_gib=18.2, full=6, recurrent=23, state_kib=2084,
            reads=(Weights("experts", 1836, NVFP4), Weights("mamba", 890, FP8), Weights("attention", 140, BF16),
                   Weights("lm_head", 352, BF16)),
            source="Nemotron-3-Nano config.json: 52 layers, 23 Mamba-2 (64 heads of 64 x 128), 23 MoE (6 + 1 of 128), "
            "6 attention; loaded size as vLLM logs it (18.16 GiB)",
        ),
        _MINIMAX,
        replace(_MINIMAX, id="cyankiwi/MiniMax-M2.7-AWQ-4bit"),
    )
}  # fmt: skip

_BY_LOWER = {name.lower(): model for name, model in MODELS.items()}


def known(model: str) -> KnownModel | None:
    return _BY_LOWER.get(model.lower())


def is_gpt_oss(model: str) -> bool:
    """Whether it is gpt-oss of any size, quantised copies and fine-tunes included: they keep its format."""
    return "gpt-oss" in model.lower()


def splits(model: KnownModel, parallel: int) -> bool:
    """Whether tensor parallelism can share the heads out evenly; key-value heads may be copied instead."""
    return model.heads % parallel == 0 and (model.kv_heads % parallel == 0 or parallel % model.kv_heads == 0)


def working_counts(model: KnownModel) -> tuple[int, ...]:
    """The tensor parallel sizes up to 16 that divide the heads."""
    return tuple(count for count in range(2, 17) if splits(model, count))


def read(name: str, config: Mapping[str, Any], weights_bytes: int) -> KnownModel | None:
    """A model from its `config.json` and the `total_size` of its safetensors index; None if they lack a value."""
    config = config.get("text_config") or config
    try:
        heads, layers = int(config["num_attention_heads"]), int(config["num_hidden_layers"])
        full, sliding, recurrent = _layers(config, layers)
        return KnownModel(
            id=name,
            heads=heads,
            kv_heads=int(config.get("num_key_value_heads") or heads),
            head_dim=int(config.get("head_dim") or int(config["hidden_size"]) // heads),
            hidden=int(config["hidden_size"]),
            vocab=int(config["vocab_size"]),
            context=int(config["max_position_embeddings"]),
            weights_gib=weights_bytes / 2**30,
            full=full,
            sliding=sliding,
            window=int(config.get("sliding_window") or 0),
            recurrent=recurrent,
            state_kib=_state_kib(config) if recurrent else 0,
            source=f"{name} config.json",
        )
    except (KeyError, TypeError, ValueError):
        return None


def _layers(config: Mapping[str, Any], layers: int) -> tuple[int, int, int]:
    """The numbers of layers that keep everything, a window, a state. Raises ValueError for a latent cache (MLA)."""
    if config.get("kv_lora_rank"):
        raise ValueError("keeps a latent cache")
    if pattern := config.get("hybrid_override_pattern"):
        return pattern.count("*"), 0, pattern.count("M")
    if kinds := config.get("layer_types"):
        full = sum(kind == "full_attention" for kind in kinds)
        sliding = sum(kind == "sliding_attention" for kind in kinds)
        return full, sliding, len(kinds) - full - sliding
    if every := config.get("full_attention_interval"):
        return layers // int(every), 0, layers - layers // int(every)
    return layers, 0, 0


def _state_kib(config: Mapping[str, Any]) -> float:
    """One recurrent layer's state of one sequence: its matrix in 32 bits, its convolution in 16."""
    if "linear_num_value_heads" in config:
        heads, head, groups, state, kernel = (
            int(config[f"linear_{key}"])
            for key in ("num_value_heads", "value_head_dim", "num_key_heads", "key_head_dim", "conv_kernel_dim")
        )
    else:
        keys = ("mamba_num_heads", "mamba_head_dim", "n_groups", "ssm_state_size", "conv_kernel")
        heads, head, groups, state, kernel = (int(config[key]) for key in keys)
    channels = heads * head + 2 * groups * state
    return (heads * head * state * 4 + channels * (kernel - 1) * 2) / 1024
