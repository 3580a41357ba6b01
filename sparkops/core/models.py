"""The architecture of models: what rules, the memory estimate and the bandwidth ceiling judge by.

A model that is not in the table is known from its own `config.json` (`core.model_config`), or judged by nothing.
"""

from dataclasses import dataclass, replace

LARGEST = 10**9
"""More than any number of a model's architecture."""

MXFP4, NVFP4, AWQ4, FP8, BF16 = 4.25, 4.5, 4.5, 8.0, 16.0
"""Bits a weight, the scales of its block included."""


@dataclass(frozen=True)
class Weights:
    """Weights of one kind that every token reads: millions of them (of the experts only the active), and their bits."""

    name: str
    millions: float
    bits: float


@dataclass(frozen=True, kw_only=True)
class Architecture:
    """What decides how much KV cache a model needs and over how many nodes it can be split."""

    heads: int
    kv_heads: int
    head_dim: int
    hidden: int
    vocab: int
    context: int
    full: int
    """Layers that keep keys and values of the whole context."""

    sliding: int = 0
    """Layers that keep those of the last `window` tokens."""

    window: int = 0
    recurrent: int = 0
    """Layers with a state of one size a sequence (Mamba, linear attention), of `state_kib` each."""

    state_kib: float = 0
    latent: int = 0
    """Numbers that a layer keeps of one token in place of keys and values (MLA); every rank keeps all of them."""

    experts: bool | None = None
    """Whether it is a mixture of experts, whose data parallel ranks share the experts; None if unknown."""

    @property
    def problem(self) -> str:
        """Why no model can be like this; empty if one can."""
        for name, value in vars(self).items():
            least = 1 if name in ("heads", "kv_heads", "head_dim", "hidden", "vocab", "context") else 0
            if isinstance(value, int | float) and not least <= value <= LARGEST:
                return f"{name.replace('_', '-')} must be between {least} and {LARGEST}"
        kept = self.full or (self.sliding and self.window) or (self.recurrent and self.state_kib)
        return "" if kept else "full, sliding and recurrent must not all be 0"


@dataclass(frozen=True, kw_only=True)
class KnownModel(Architecture):
    """From the published configuration. `weights_gib` is what the engine loads, not what the hub stores; 0: unknown."""

    id: str
    weights_gib: float
    reads: tuple[Weights, ...] = ()
    mxfp4: bool = False
    source: str = ""

    @property
    def beside_experts(self) -> float | None:
        """GiB of the weights that are no experts: what every token reads, and the vocabulary's; None if unknown."""
        others = sum(part.millions * 1e6 * part.bits for part in self.reads if part.name not in ("experts", "moe"))
        return (others + self.hidden * self.vocab * BF16) / 8 / 2**30 if self.reads else None


_OSS = KnownModel(
    id="openai/gpt-oss-120b", heads=64, kv_heads=8, head_dim=64, hidden=2880, vocab=201088, context=131072,
    weights_gib=61, full=18, sliding=18, window=128, mxfp4=True, experts=True,
    reads=(Weights("moe", 3583, MXFP4), Weights("qkv", 531, BF16), Weights("o", 425, BF16),
           Weights("lm_head", 579, BF16), Weights("router", 13, BF16)),
    source="openai/gpt-oss-120b config.json: 36 layers, every second one sliding over 128 tokens; 4 of 128 experts",
)  # fmt: skip

_QWEN_NEXT = KnownModel(
    id="Qwen/Qwen3-Next-80B-A3B-Instruct-FP8", heads=16, kv_heads=2, head_dim=256, hidden=2048, vocab=151936,
    context=262144, weights_gib=75, full=12, recurrent=36, state_kib=2096, experts=True,
    reads=(Weights("experts", 1661, FP8), Weights("attention", 327, FP8), Weights("linear attention", 1213, FP8),
           Weights("lm_head", 311, BF16), Weights("router", 50, BF16)),
    source="Qwen/Qwen3-Next-80B-A3B-Instruct config.json: 48 layers, every fourth with full attention; 10 of "
    "512 experts per token and 1 shared; 32 heads with a state of 128 x 128",
)  # fmt: skip

_MINIMAX = KnownModel(
    id="cyankiwi/MiniMax-M2.5-AWQ-4bit", heads=48, kv_heads=8, head_dim=128, hidden=3072, vocab=200064,
    context=196608, weights_gib=125, full=62, experts=True,
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
            experts=True,
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


def splits(model: Architecture, parallel: int) -> bool:
    """Whether tensor parallelism can share the heads out evenly; key-value heads may be copied instead."""
    return model.heads % parallel == 0 and (model.kv_heads % parallel == 0 or parallel % model.kv_heads == 0)


def working_counts(model: Architecture) -> tuple[int, ...]:
    """The tensor parallel sizes up to 16 that divide the heads."""
    return tuple(count for count in range(2, 17) if splits(model, count))


def of(name: str, architecture: Architecture, weights_gib: float, source: str) -> KnownModel:
    """A model that is not in the table."""
    return KnownModel(**vars(architecture), id=name, weights_gib=weights_gib, source=source)
