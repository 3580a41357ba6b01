"""A model from the files that its authors publish: `config.json` and the names and sizes of its files.

The files are not trusted: a value of a wrong type or size makes the architecture unknown, with the reason.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from sparkops.core.models import Architecture

Config = Mapping[str, Any]

DEFAULTS: Mapping[str, Config] = {
    "gpt_oss": {"head_dim": 64, "sliding_window": 128, "sliding_window_pattern": 2},
    "gemma2": {"sliding_window": 4096, "sliding_window_pattern": 2},
    "gemma3_text": {
        "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256, "vocab_size": 262208,
        "max_position_embeddings": 131072, "sliding_window": 4096, "sliding_window_pattern": 6,
    },
    "qwen3_next": {
        "head_dim": 256, "full_attention_interval": 4, "linear_num_value_heads": 32, "linear_value_head_dim": 128,
        "linear_num_key_heads": 16, "linear_key_head_dim": 128, "linear_conv_kernel_dim": 4,
    },
}  # fmt: skip
"""Values of transformers' configuration classes, by `model_type`, for keys that published files leave out."""

EXPERTS = ("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts")
_TEXT = ("text_config", "llm_config", "language_config")
_STRANGE = {
    "linear_attn_config": "has linear attention of a kind that sparkops does not know",
    "global_head_dim": "has heads of two sizes",
    "layers_block_type": "mixes kinds of layers that sparkops does not know",
}
"""Keys of architectures whose KV cache cannot be computed from the other keys."""

_KINDS = {
    **dict.fromkeys(("full_attention", "attention"), "full"),
    **dict.fromkeys(("sliding_attention", "chunked_attention"), "sliding"),
    **dict.fromkeys(("linear_attention", "mamba"), "recurrent"),
}
_STATES = (
    tuple(f"linear_{key}" for key in ("num_value_heads", "value_head_dim", "num_key_heads", "key_head_dim"))
    + ("linear_conv_kernel_dim",),
    ("mamba_num_heads", "mamba_head_dim", "n_groups", "ssm_state_size", "conv_kernel"),
    ("mamba_n_heads", "mamba_d_head", "mamba_n_groups", "mamba_d_state", "mamba_d_conv"),
)
"""Keys of a recurrent layer: heads, numbers of each head, groups, size of the state, width of the convolution."""

_ALREADY_SCALED = ("su", "longrope", "llama3")
"""Kinds of RoPE scaling that `max_position_embeddings` includes, as it does in Gemma 3 (vLLM, `config/model.py`)."""
_MOST_SCALING = 1024
"""A factor above this is no length of a context."""

_WEIGHTS = (r"(?!consolidated)[^/]+\.safetensors", r"[^/]+\.safetensors", r"(?:pytorch_)?model[^/]*\.bin")
"""Files of weights, the best format first: `consolidated` files repeat the others, folders hold other formats."""


UNQUANTISED = {"bfloat16": "bf16", "float16": "fp16", "float32": "fp32"}
QUANTISED = {
    **{name: name for name in ("nvfp4", "mxfp4", "awq", "gptq", "fp8", "bitsandbytes")},
    **{"float-quantized": "fp8", "pack-quantized": "int4"},
}
"""The format of the weights by a word of `quantization_config`; the first that stands there counts."""


def read(text: str) -> Config:
    """The object in a file of JSON; raises ValueError if there is none."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError("is not valid JSON") from None
    if not isinstance(found, dict):
        raise ValueError("is not a JSON object")
    return found


def text_part(config: Config) -> Config:
    """The keys of the language model; a multimodal model has them in a part of its configuration."""
    inner = next((config[key] for key in _TEXT if isinstance(config.get(key), Mapping)), config)
    return {**DEFAULTS.get(str(inner.get("model_type", "")), {}), **inner}


def weights_bytes(files: Mapping[str, int]) -> int:
    """Bytes of the weights that vLLM loads, from the size of each file; 0 if none are known."""
    for pattern in _WEIGHTS:
        if size := sum(size for name, size in files.items() if re.fullmatch(pattern, name)):
            return size
    return 0


def architecture(config: Config) -> Architecture:
    """What `config.json` says; raises ValueError with the reason if it does not say enough."""
    config = text_part(config)
    for key, reason in _STRANGE.items():
        if config.get(key):
            raise ValueError(reason)
    heads = _number(config, "num_attention_heads", "n_head")
    hidden = _number(config, "hidden_size", "n_embd", "d_model")
    full, sliding, recurrent = _layers(config)
    latent = sum(_optional(config, key) for key in ("kv_lora_rank", "qk_rope_head_dim", "index_head_dim"))
    found = Architecture(
        heads=heads,
        kv_heads=_optional(config, "num_key_value_heads") or heads,
        head_dim=_optional(config, "head_dim", "attention_head_dim") or hidden // max(1, heads),
        hidden=hidden,
        vocab=_number(config, "vocab_size"),
        context=_context(config),
        full=full,
        sliding=sliding,
        window=_optional(config, "sliding_window", "attention_chunk_size") if sliding else 0,
        recurrent=recurrent,
        state_kib=_state_kib(config) if recurrent else 0,
        latent=latent if config.get("kv_lora_rank") else 0,
        experts=is_moe(config),
    )
    if found.problem:
        raise ValueError(found.problem)
    return found


def _context(config: Config) -> int:
    """The longest context, as vLLM derives it: most kinds of RoPE scaling extend the positions of the model."""
    positions = _number(config, "max_position_embeddings", "n_positions", "max_seq_len", "seq_length")
    most = config.get("model_max_length")
    most = most if isinstance(most, int) and not isinstance(most, bool) and most > 0 else None
    positions = min(positions, most or positions)
    scaling = config.get("rope_scaling") or config.get("rope_parameters")
    if not isinstance(scaling, Mapping) or str(config.get("model_type", "")).startswith("gemma3"):
        scaling = {}
    longest = positions
    for one in [part for part in scaling.values() if isinstance(part, Mapping)] or [scaling]:
        kind, factor = one.get("rope_type", one.get("type")), one.get("factor")
        if kind in _ALREADY_SCALED or isinstance(factor, bool) or not isinstance(factor, int | float):
            continue
        if 0 < factor <= _MOST_SCALING:
            begun = one.get("original_max_position_embeddings") if kind == "yarn" else None
            longest = int((begun if isinstance(begun, int) and begun > 0 else positions) * factor)
    return max(longest, most or 0)


def _layers(config: Config) -> tuple[int, int, int]:
    """The numbers of layers that keep everything, a window, a state."""
    layers = _number(config, "num_hidden_layers", "n_layer")
    if isinstance(pattern := config.get("hybrid_override_pattern"), str):
        return pattern.count("*"), 0, pattern.count("M")
    if kinds := config.get("layer_types"):
        if not isinstance(kinds, list) or not all(isinstance(kind, str) and kind in _KINDS for kind in kinds):
            raise ValueError("layer_types has kinds of layers that sparkops does not know")
        found = [_KINDS[kind] for kind in kinds]
        return found.count("full"), found.count("sliding"), found.count("recurrent")
    if isinstance(kinds := config.get("attn_type_list"), list) and any(kind != 1 for kind in kinds):
        raise ValueError("attn_type_list has kinds of layers that sparkops does not know")
    if every := _optional(config, "full_attention_interval"):
        return layers // every, 0, layers - layers // every
    every = _optional(config, "sliding_window_pattern", "_sliding_window_pattern")
    if every and config.get("sliding_window"):
        return layers // every, layers - layers // every, 0
    return layers, 0, 0


def _state_kib(config: Config) -> float:
    """One recurrent layer's state of one sequence: its matrix in 32 bits, its convolution in 16."""
    keys = next((keys for keys in _STATES if keys[0] in config), _STATES[1])
    heads, head, groups, state, kernel = (_number(config, key) for key in keys)
    channels = heads * head + 2 * groups * state
    return (heads * head * state * 4 + channels * (kernel - 1) * 2) / 1024


def _number(config: Config, *keys: str) -> int:
    """The first of the keys that is set."""
    value = next((config[key] for key in keys if config.get(key) is not None), None)
    if value is None:
        raise ValueError(f"config.json has no {keys[0]}")
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"{keys[0]} in config.json is not a number")
    return value


def _optional(config: Config, *keys: str) -> int:
    """As `_number`, 0 if none of the keys is set."""
    return _number(config, *keys) if any(config.get(key) is not None for key in keys) else 0


def quantisation(config: Config, modelopt: Config | None = None) -> str:
    """The format of the weights, such as `nvfp4`, `fp8`, `awq` or `bf16`; "unknown" if no file says it.

    `modelopt` is `hf_quant_config.json`, in which older NVIDIA models say it.
    """
    text = text_part(config)
    found = config.get("quantization_config") or text.get("quantization_config") or (modelopt or {}).get("quantization")
    if not isinstance(found, Mapping):
        kinds = (one.get(key) for one in (text, config) for key in ("dtype", "torch_dtype"))
        return UNQUANTISED.get(str(next(filter(None, kinds), "")), "unknown")
    said = " ".join(str(found.get(key, "")) for key in ("quant_algo", "format", "quant_method")).lower()
    return next((name for sign, name in QUANTISED.items() if sign in said), "unknown")


def is_moe(config: Config) -> bool:
    """Whether it has experts, as vLLM counts them: some models have a list of numbers, or one for each block."""
    text = text_part(config)
    blocks = text.get("block_configs")
    parts = [text, *(one for one in (blocks if isinstance(blocks, list) else ()) if isinstance(one, Mapping))]
    return any(_some(one.get(key)) for one in parts for key in EXPERTS)


def _some(count: Any) -> bool:
    first = next(iter(count), 0) if isinstance(count, list) else count
    return isinstance(first, int) and first > 0
