"""Families of models, and the names under which vLLM has the parsers of their tool calls and of their reasoning.

A family is known by `model_type` in `config.json`, and by the name of the model where one type has several formats.
"""

import re
from dataclasses import dataclass

DOCS = "vLLM's pages on tool calling and reasoning outputs, read in November 2026"
INCLUDED = "the recipes that come with sparkops"
CARDS = "the authors' vLLM commands on the hub, as of November 2026"


@dataclass(frozen=True)
class Family:
    """`tools` and `reasoning` are names of vLLM's parsers; empty: vLLM has none, or the model does not need one.

    `named` is a pattern for the name of the model.
    """

    title: str
    types: tuple[str, ...]
    tools: str = ""
    reasoning: str = ""
    named: str = ""
    source: str = DOCS


FAMILIES = (
    Family("gpt-oss", ("gpt_oss",), "openai", "openai_gptoss"),
    Family("DeepSeek-R1-Distill", ("llama", "qwen2"), "", "deepseek_r1", "r1-distill"),
    Family("Qwen3.5", ("qwen3_5", "qwen3_5_moe"), "qwen3_coder", "qwen3", "", CARDS),
    Family("Qwen3-Coder", ("qwen3_moe", "qwen3_next"), "qwen3_coder", "", "coder", INCLUDED),
    Family(
        "Qwen3-Instruct", ("qwen3", "qwen3_moe", "qwen3_next", "qwen3_vl", "qwen3_vl_moe"), "hermes", "", "instruct",
        "its authors' page on the hub: this model does not think",
    ),
    Family(
        "Qwen3", ("qwen3", "qwen3_moe", "qwen3_next", "qwen3_vl", "qwen3_vl_moe"), "hermes", "qwen3", "",
        "the pages of Qwen and of vLLM, read in November 2026",
    ),
    Family("QwQ", ("qwen2",), "hermes", "deepseek_r1", "qwq"),
    Family("Qwen2.5", ("qwen2", "qwen2_moe", "qwen2_5_vl"), "hermes"),
    Family("Hermes", ("llama", "qwen3", "mistral"), "hermes", "", "hermes"),
    Family("Llama 3", ("llama", "mllama"), "llama3_json", "", r"llama-3\.[123]"),
    Family("Llama 4", ("llama4",), "llama4_pythonic"),
    Family("GLM-4.7", ("glm4_moe", "glm4_moe_lite"), "glm47", "glm45", r"glm-4\.7"),
    Family("GLM-4.5", ("glm4_moe", "glm4v_moe"), "glm45", "glm45"),
    Family("DeepSeek-V3.2", ("deepseek_v32",), "deepseek_v32", "deepseek_v3"),
    Family("DeepSeek-V3.1", ("deepseek_v3",), "deepseek_v31", "deepseek_v3", r"v3\.1"),
    Family("DeepSeek-R1", ("deepseek_v3",), "deepseek_v3", "deepseek_r1", "r1"),
    Family("DeepSeek-V3", ("deepseek_v3",), "deepseek_v3"),
    Family("MiniMax-M2", ("minimax_m2",), "minimax_m2", "minimax_m2", "", INCLUDED),
    Family("Magistral", ("mistral", "mistral3"), "mistral", "mistral", "magistral"),
    Family("Mistral", ("mistral", "mistral3", "ministral3", "mixtral"), "mistral"),
    Family("Nemotron 3", ("nemotron_h",), "qwen3_coder", "nemotron_v3", "nemotron-3", INCLUDED),
    Family("Gemma 4", ("gemma4", "gemma4_text"), "gemma4", "gemma4"),
    Family("Gemma 3", ("gemma3", "gemma3_text")),
    Family("Granite 4", ("granitemoehybrid",), "granite4"),
    Family("Kimi-K2", ("kimi_k2",), "kimi_k2", "kimi_k2", "", CARDS),
    Family("Seed-OSS", ("seed_oss",), "seed_oss", "seed_oss", "", CARDS),
    Family("ERNIE-4.5", ("ernie4_5_moe",), "ernie45", "ernie45"),
    Family("Hunyuan-A13B", ("hunyuan_v1_moe",), "hunyuan_a13b", "hunyuan_a13b"),
)  # fmt: skip
"""The first that fits counts."""


def family(types: tuple[str, ...], name: str) -> Family | None:
    """The family of a model with these values of `model_type`."""
    wanted = (one for one in FAMILIES if set(one.types) & set(types))
    return next((one for one in wanted if re.search(one.named, name.lower())), None)
