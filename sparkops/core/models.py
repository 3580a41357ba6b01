"""The sizes of models that rules judge by; an unknown model is judged by nothing here."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Model:
    """From the model's published configuration. `weights_gib` is what the engine loads, not what the hub stores."""

    id: str
    heads: int
    kv_heads: int
    hidden: int
    vocab: int
    layers: int
    context: int
    weights_gib: float
    mxfp4: bool = False
    harmony: bool = False
    """Speaks OpenAI's harmony format, so needs its tokenizer's vocabulary files and its parsers."""


MODELS = {
    model.id: model
    for model in (
        Model("openai/gpt-oss-120b", 64, 8, 2880, 201088, 36, 131072, 61, mxfp4=True, harmony=True),
        Model("openai/gpt-oss-20b", 64, 8, 2880, 201088, 24, 131072, 13, mxfp4=True, harmony=True),
        Model("Qwen/Qwen3-Next-80B-A3B-Instruct-FP8", 16, 2, 2048, 151936, 48, 262144, 76),
        Model("Qwen/Qwen3-Next-80B-A3B-Thinking-FP8", 16, 2, 2048, 151936, 48, 262144, 76),
    )
}

_BY_LOWER = {name.lower(): model for name, model in MODELS.items()}


def known(model: str) -> Model | None:
    return _BY_LOWER.get(model.lower())


def is_gpt_oss(model: str) -> bool:
    """gpt-oss of any size and by anybody: quantised copies and fine-tunes keep the format."""
    return "gpt-oss" in model.lower()


def is_qwen3_next(model: str) -> bool:
    return "qwen3-next" in model.lower()


def splits(model: Model, parallel: int) -> bool:
    """Whether tensor parallelism can share the heads out evenly; key-value heads may be copied instead."""
    return model.heads % parallel == 0 and (model.kv_heads % parallel == 0 or parallel % model.kv_heads == 0)


def working_counts(model: Model, most: int = 16) -> tuple[int, ...]:
    return tuple(count for count in range(2, most + 1) if splits(model, count))
