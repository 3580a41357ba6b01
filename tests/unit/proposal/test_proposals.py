"""What `recipe new` proposes for models of the hub, and that no file of a model can confuse it."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from sparkops.core import model_config, proposal_file, shapes, topology
from sparkops.core.memory_estimate import GB10_KIB
from sparkops.core.model_snapshot import ModelSnapshot
from sparkops.core.models import MODELS, Architecture
from sparkops.core.proposal import propose
from sparkops.core.proposal_room import WantedNodes
from sparkops.errors import Refused, UsageError
from sparkops.files import recipes
from sparkops.verbs.recipe.lint import linted
from support import golden

HERE = Path(__file__).parent
HUB: dict[str, dict[str, Any]] = yaml.safe_load((HERE / "models.yml").read_text())
TWO = WantedNodes(2)
PLACES = {
    "two nodes of 128 GB": TWO,
    "two nodes of 64 GB": WantedNodes(2, GB10_KIB // 2),
    "eight nodes of 128 GB": WantedNodes(8),
}


def snapshot(name: str) -> ModelSnapshot:
    about = HUB[name]
    files = {"model-00001-of-00001.safetensors": int(about["gib"] * 2**30)} if "gib" in about else {}
    texts = {"config.json": json.dumps(about["config"])} if "config" in about else {}
    if "template" in about:
        texts["chat_template.jinja"] = about["template"]
    if "modelopt" in about:
        texts["hf_quant_config.json"] = json.dumps(about["modelopt"])
    sizes = {name: len(text) for name, text in texts.items()}
    return ModelSnapshot(name, "https://hub.example.org", "", {**files, **sizes, **about.get("files", {})}, texts)


def told(name: str, nodes: WantedNodes) -> str:
    try:
        found = propose(snapshot(name), nodes, recipes.flag_table())
    except (Refused, UsageError) as error:
        return f"{error.message}\n  next: {error.hint}"
    values = (f"{line.key}: {json.dumps(line.value)}  # {line.reason}" for line in found.lines)
    return "\n".join([*values, *(f"not set: {reason}" for reason in found.left_out)])


def test_a_proposal_is_what_its_file_says() -> None:
    cases = [(name, "two nodes of 128 GB") for name in HUB]
    cases += [("Qwen/Qwen3-32B", "two nodes of 64 GB"), ("deepseek-ai/DeepSeek-V3", "eight nodes of 128 GB")]
    text = "".join(f"## {name}, {place}\n{told(name, PLACES[place])}\n\n" for name, place in cases)
    golden.hold(HERE / "proposals.txt", text)


def test_every_proposal_passes_the_rules_and_fits_by_the_estimate_of_its_own_file() -> None:
    seen = 0
    for name in HUB:
        for nodes in PLACES.values():
            try:
                found = propose(snapshot(name), nodes, recipes.flag_table())
            except (Refused, UsageError):
                continue
            recipe = recipes.from_text(proposal_file.text(found), Path("mine.yml"))
            kinds = shapes.kinds(recipe)
            assert found.shape.kind in kinds, name
            refused = [one for kind in kinds for one in linted(recipe, "mine.yml", topology.parse(kind))["findings"]]
            assert [one["message"] for one in refused if one["action"] == "refuse"] == [], name
            assert recipe.metadata.architecture == (
                None if isinstance(found.snapshot.architecture, str) else found.snapshot.architecture
            )
            assert found.estimate.fit in ("fits", "unknown"), name
            seen += 1
    assert seen > 40


def per_token(name: str) -> float:
    """Bytes of KV cache that one token takes in 16 bits on one node."""
    found = snapshot(name).architecture
    assert isinstance(found, Architecture)
    return found.full * (found.latent or 2 * found.kv_heads * found.head_dim) * 2


def test_the_kv_cache_is_what_is_published() -> None:
    """DeepSeek-V3's report: 70.272 KB a token. Llama-3.3-70B, Qwen3-32B: 2 x layers x heads x 128 in 16 bits."""
    assert per_token("deepseek-ai/DeepSeek-V3") == 70272
    assert per_token("meta-llama/Llama-3.3-70B-Instruct") == 327680
    assert per_token("Qwen/Qwen3-32B") == 262144
    assert per_token("openai/gpt-oss-120b") == 4608 * 2**20 / 131072


def test_the_files_of_a_known_model_say_what_the_table_has() -> None:
    for name in ("openai/gpt-oss-120b", "openai/gpt-oss-20b"):
        known, found = MODELS[name], snapshot(name)
        assert isinstance(found.architecture, Architecture)
        assert vars(found.architecture) == {key: getattr(known, key) for key in vars(found.architecture)}
        assert found.weights_gib == pytest.approx(known.weights_gib, abs=0.3)


def test_weights_are_counted_once_and_without_those_of_other_programs() -> None:
    one = {"model-00001-of-00002.safetensors": 5, "model-00002-of-00002.safetensors": 7}
    cases: tuple[tuple[Mapping[str, int], int], ...] = (
        (one, 12),
        ({**one, "consolidated.safetensors": 12, "original/model.safetensors": 12, "metal/model.bin": 12}, 12),
        ({**one, "pytorch_model.bin": 12}, 12),
        ({"consolidated.safetensors": 12, "tekken.json": 1}, 12),
        ({"pytorch_model-00001-of-00002.bin": 6, "training_args.bin": 1}, 6),
        ({"model-q4.gguf": 4}, 0),
        ({}, 0),
    )
    assert [(files, model_config.weights_bytes(files)) for files, _ in cases] == list(cases)


def test_quantisation_is_read_from_every_form_in_which_it_is_published() -> None:
    cases = {
        "nvfp4": {"quantization_config": {"quant_method": "modelopt", "quant_algo": "NVFP4"}},
        "fp8": {"quantization_config": {"quant_method": "compressed-tensors", "format": "float-quantized"}},
        "int4": {"quantization_config": {"quant_method": "compressed-tensors", "format": "pack-quantized"}},
        "awq": {"text_config": {"quantization_config": {"quant_method": "awq"}}},
        "gptq": {"quantization_config": {"quant_method": "gptq"}},
        "bitsandbytes": {"quantization_config": {"quant_method": "bitsandbytes"}},
        "bf16": {"text_config": {"dtype": "bfloat16"}},
        "fp16": {"torch_dtype": "float16"},
        "unknown": {"quantization_config": {"quant_method": "of tomorrow"}},
    }
    assert {name: model_config.quantisation(config) for name, config in cases.items()} == {name: name for name in cases}
    assert model_config.quantisation({}) == "unknown"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**12), 10**12) | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
KEYS = sorted(
    {key for about in HUB.values() for key in (about.get("config") or {}) if isinstance(about["config"], dict)}
    | {"text_config", "layer_types", "sliding_window_pattern", "attn_type_list", "num_experts", "chat_template"}
)


@given(st.dictionaries(st.sampled_from(KEYS), JSON), st.sampled_from([name for name in HUB if "gib" in HUB[name]]))
def test_no_value_of_a_configuration_confuses_it(changed: dict[str, Any], name: str) -> None:
    """A proposal for any configuration can be written and read again, or the error says what is wrong."""
    whole = HUB[name]["config"]
    config = {**(whole if isinstance(whole, dict) else {}), **changed}
    made = ModelSnapshot(
        name, "https://hub.example.org", "", {"model.safetensors": 2**33}, {"config.json": json.dumps(config)}
    )
    try:
        found = propose(made, TWO, recipes.flag_table())
    except (Refused, UsageError):
        return
    recipe = recipes.from_text(proposal_file.text(found), Path("mine.yml"))
    assert recipe.model == name


def is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False


@given(st.text(max_size=60).filter(lambda text: not is_object(text)))
def test_a_file_that_is_no_object_of_json_is_refused_by_its_name(text: str) -> None:
    made = ModelSnapshot("acme/any", "a mirror", "", {"model.safetensors": 2**30}, {"config.json": text})
    with pytest.raises(UsageError, match=r"^acme/any: config\.json at a mirror is "):
        propose(made, TWO, recipes.flag_table())


def test_deeply_nested_json_is_refused() -> None:
    made = ModelSnapshot("acme/any", "a mirror", "", {}, {"config.json": "[" * 100_000})
    with pytest.raises(UsageError, match="is not valid JSON"):
        propose(made, TWO, recipes.flag_table())
