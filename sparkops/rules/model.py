"""What single models and images need, and what they cannot take."""

from functools import partial

from sparkops.core import models
from sparkops.core.effective import Effective
from sparkops.core.findings import SettingChange
from sparkops.core.flags import FORK
from sparkops.core.recipe import MOUNTS
from sparkops.core.topology import Shape
from sparkops.rules.rule import Example, Rule, Verdict, fix, image, is_mxfp4, refuse, set_args, set_env, warn

MOE = "VLLM_USE_FLASHINFER_MOE_MXFP4_MXFP8"
NGC_MOE = "VLLM_USE_FLASHINFER_MXFP4_MOE"
TIKTOKEN = "TIKTOKEN_RS_CACHE_DIR"
QWEN_FORBIDDEN = ("VLLM_USE_FLASHINFER_MOE_FP8", "VLLM_FLASHINFER_MOE_BACKEND")
QWEN_ARGS = {"trust-remote-code": True, "enable-chunked-prefill": True, "max-num-seqs": 16}
EXTENDS = ("hf-overrides", "rope-scaling", "VLLM_ALLOW_LONG_MAX_MODEL_LEN")
"""Flags and a variable that raise a model's longest context."""

HARMONY = {"tool-call-parser": "openai", "reasoning-parser": "openai_gptoss"}

QWEN = "Qwen/Qwen3-Next-80B-A3B-Instruct-FP8"
CUTLASS = {"quantization": "mxfp4", "mxfp4-backend": "CUTLASS"}


@partial(
    Rule,
    id="mxfp4-image",
    actions=("refuse", "warn"),
    title="MXFP4 flags and the mxfp4 image belong together",
    why=(
        "--mxfp4-backend and --mxfp4-layers exist only in the mxfp4 image's vLLM; any other vLLM rejects them. "
        "Without these flags, the mxfp4 image does not use its MXFP4 kernels."
    ),
    source="flags of vLLM 0.32; christopherowen/spark-vllm-mxfp4-docker; kubis.ai, article 8 of 9",
    example_hit=Example(image="vllm-node", args=CUTLASS),
    example_miss=Example(args=CUTLASS),
)
def mxfp4_image(effective: Effective, _shape: Shape) -> Verdict | None:
    flags = [f"--{name}" for name in FORK if name in effective.args]
    has = image(effective).mxfp4_flags
    if flags and has is False:
        message = f"{effective.image} does not know {' and '.join(flags)}: the engine would exit at once"
        return refuse(message, "use --set container=vllm-node-mxfp4, or remove the flags")
    if flags and has is None:
        return warn(f"sparkops cannot tell whether {effective.image} knows {' and '.join(flags)}")
    if has and not flags and is_mxfp4(effective):
        hint = "use --set args.mxfp4-backend=CUTLASS --set args.mxfp4-layers=moe,qkv,o,lm_head"
        return warn(f"no flag switches on the MXFP4 kernels of {effective.image}", hint)
    return None


@partial(
    Rule,
    id="marlin-fallback",
    actions=("warn",),
    title="The image has MXFP4 kernels for an MXFP4 model",
    why=(
        "Upstream vLLM has no MXFP4 kernels for a GB10 (SM121). Its Marlin kernels dequantise the weights, need about "
        "118 GB at any --gpu-memory-utilization, and once hung for 44 minutes in graph capture."
    ),
    source="vllm-project/vllm #43969; spark-arena/recipe-registry #17; kubis.ai, article 3 of 9",
    example_hit=Example(image="vllm-node"),
    example_miss=Example(image="vllm-node", model=QWEN),
)
def marlin_fallback(effective: Effective, _shape: Shape) -> Verdict | None:
    if not (image(effective).stock and is_mxfp4(effective)):
        return None
    message = f"{effective.image} serves MXFP4 with Marlin: it is slower than the mxfp4 image and needs 118 GB to load"
    return warn(message, "use --set container=vllm-node-mxfp4 --set args.mxfp4-backend=CUTLASS")


@partial(
    Rule,
    id="env-per-image",
    actions=("fix", "warn"),
    title="Each image gets the environment variables that it needs",
    why=(
        "Without the FlashInfer MoE variable or the tokenizer's vocabulary, the model loads, but requests fail with "
        "unclear errors. On images without MXFP4 kernels, the MoE variable selects a kernel that a GB10 cannot run."
    ),
    source="kubis.ai, article 8 of 9; vllm-project/vllm #22525; NVIDIA's 25.09 playbook (other variable name)",
    example_hit=Example(),
    example_miss=Example(env={MOE: "1", TIKTOKEN: "/root/.cache/tiktoken_rs"}),
)
def env_per_image(effective: Effective, _shape: Shape) -> Verdict | None:
    kind, wanted = image(effective).kind, dict[str, str | None]()
    has_vocabulary = TIKTOKEN in effective.env or "TIKTOKEN_ENCODINGS_BASE" in effective.env
    if kind in ("mxfp4", "ngc") and models.is_gpt_oss(effective.model) and not has_vocabulary:
        wanted[TIKTOKEN] = MOUNTS["tiktoken_rs"][1]
    moe = {"mxfp4": MOE, "ngc": NGC_MOE}.get(kind)
    if moe and is_mxfp4(effective) and moe not in effective.env:
        wanted[moe] = "1"
    if image(effective).stock:
        wanted[MOE] = None
    if kind == "unknown" and MOE in effective.env:
        return warn(f"sparkops cannot tell whether {effective.image} supports {MOE}")
    return fix(f"these environment variables are set or removed for {effective.image}", set_env(effective, wanted))


@partial(
    Rule,
    id="mounts-required",
    actions=("fix",),
    title="Five cache directories outlive the container",
    why="Without these mounts, the engine crashes or uses slower code, and every start compiles and downloads again.",
    source="kubis.ai, article 8 of 9",
    example_hit=Example(mounts=("huggingface",)),
    example_miss=Example(mounts=tuple(MOUNTS)),
)
def mounts_required(effective: Effective, _shape: Shape) -> Verdict | None:
    targets = {mount.split(":")[1] for mount in effective.mounts if ":" in mount}
    missing = [name for name, (_, target) in MOUNTS.items() if name not in effective.mounts and target not in targets]
    changes = tuple(SettingChange("mounts", name, None, True) for name in missing)
    mounted = f"{len(missing)} cache folder{'s' if len(missing) > 1 else ''} mounted, so that restarts are faster"
    return fix(f"added: {mounted}: {', '.join(missing)}", changes)


@partial(
    Rule,
    id="gpt-oss-parsers",
    actions=("warn",),
    title="gpt-oss uses the harmony parsers",
    why=(
        "The model answers in harmony format. The recipe in the kubis.ai article has the parser hermes, other "
        "recipes have openai and openai_gptoss. To check a parser, request a tool call: tool_calls must not be empty."
    ),
    source="kubis.ai, article 8 of 9 (hermes); opposite: eugr/spark-vllm-docker, dendro-logic.com/recipes",
    example_hit=Example(args={"tool-call-parser": "hermes"}),
    example_miss=Example(args=HARMONY),
)
def gpt_oss_parsers(effective: Effective, _shape: Shape) -> Verdict | None:
    wrong = {name: effective.value(name) for name in HARMONY if effective.value(name) not in (None, HARMONY[name])}
    if not wrong or not models.is_gpt_oss(effective.model):
        return None
    given = " and ".join(f"--{name} {value}" for name, value in wrong.items())
    message = f"gpt-oss answers in harmony format, which {given} cannot parse"
    return warn(message, "use " + " ".join(f"--set args.{name}={HARMONY[name]}" for name in wrong))


@partial(
    Rule,
    id="qwen3-next",
    actions=("fix",),
    title="Qwen3-Next needs five settings",
    why=(
        "Without trust-remote-code the model does not load. Without chunked prefill a long prompt uses up the memory. "
        "DeepGEMM is unstable on SM121. A forced FlashInfer MoE backend crashes; vLLM chooses Triton by itself, which "
        "works."
    ),
    source="kubis.ai, article 8 of 9",
    example_hit=Example(image="vllm-node", model=QWEN),
    example_miss=Example(image="vllm-node", model=QWEN, args=QWEN_ARGS, env={"VLLM_USE_DEEP_GEMM": "0"}),
)
def qwen3_next(effective: Effective, _shape: Shape) -> Verdict | None:
    if "qwen3-next" not in effective.model.lower():
        return None
    wanted = dict(QWEN_ARGS)
    if effective.value("max-num-seqs") is not None:
        del wanted["max-num-seqs"]
    changes = set_args(effective, wanted)
    changes += set_env(effective, {"VLLM_USE_DEEP_GEMM": "0"} | dict.fromkeys(QWEN_FORBIDDEN))
    return fix("Qwen3-Next needs these settings on this GPU", changes)


@partial(
    Rule,
    id="context-beyond-model",
    actions=("refuse",),
    title="--max-model-len is at most the model's own maximum",
    why=(
        "vLLM exits if --max-model-len is above the maximum of the model's config.json. A model whose context is "
        "extended by --hf-overrides, or by VLLM_ALLOW_LONG_MAX_MODEL_LEN, has no such limit."
    ),
    source="vllm-project/vllm #7080, #3676 (its error: greater than the derived max_model_len)",
    example_hit=Example(args={"max-model-len": 999999}),
    example_miss=Example(args={"max-model-len": 131072}),
    final=True,
)
def context_beyond_model(effective: Effective, _shape: Shape) -> Verdict | None:
    known, context = effective.known_model, int(effective.number("max-model-len", 0))
    extended = any(name.startswith(EXTENDS) for name in (*effective.args, *effective.env))
    if known is None or extended or not 0 < known.context < context:
        return None
    message = f"--max-model-len {context} is above the {known.context} tokens that {effective.model} has"
    return refuse(message, f"use --set args.max-model-len={known.context} or less")
