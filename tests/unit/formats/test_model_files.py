"""Model files in the format of recipes.vllm.ai: what a GB10 serves of them, and what is refused with its line."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from sparkops.core import formats, shapes, topology
from sparkops.core.effective import Overrides, command_line, effective
from sparkops.core.formats.export import SCHEMAS, exported
from sparkops.core.recipe import Recipe, written
from sparkops.errors import UsageError
from sparkops.files import recipes
from sparkops.files.yaml_positions import parse
from support import golden

FILE = """\
meta:
  description: "A mixture of experts  with images"
  date_updated: 2026-09-02
  tasks: [multimodal, text]
  hardware: {dgx_spark_gb10: verified, mi300x: unsupported}
model:
  model_id: "acme/moss-30b"
  min_vllm_version: "0.17.0"
  docker_image: {amd: "vllm/vllm-openai-rocm:nightly"}
  base_args: ["--trust-remote-code", "--block-size=64"]
  base_env: {A: "model", B: "model"}
features:
  tool_calling:
    args: ["--enable-auto-tool-choice", "--tool-call-parser", "moss"]
  encoder_parallel:
    hardware_overrides:
      nvidia: {args: ["--mm-encoder-tp-mode", "data"], env: {B: "feature"}}
  spec_decoding:
    strategies: [single_node_tp]
    default_mode: mtp
    modes:
      eagle: {args: ["--speculative-config", '{"method":"eagle3","model":"acme/eagle","num_speculative_tokens":2}']}
      mtp:
        args: ["--speculative-config", '{"method":"mtp","num_speculative_tokens":9}']
        hardware_overrides:
          dgx_spark_gb10: {args: ["--speculative-config", '{"method":"mtp","num_speculative_tokens":3}']}
      hopper_only: {args: [], hardware: {blackwell: unsupported}}
opt_in_features: [spec_decoding]
variants:
  default: {precision: bf16, vram_minimum_gb: 72}
  nvfp4:
    model_id: "acme/moss-30b-NVFP4"
    vram_minimum_gb: 21
    min_vllm_version: "0.28.0"
    docker_image: {nvidia: {cu129: "vllm/vllm-openai:moss-cu129", cu130: "vllm/vllm-openai:moss"}}
    extra_args: ["--kv-cache-dtype", "auto"]
    hardware_overrides:
      dgx_spark_gb10:
        extra_args:
          - "--kv-cache-dtype"
          - "fp8"
          - "--max-num-seqs"
          - 8
        extra_env: {A: "gb10"}
      h100: {extra_args: ["--enforce-eager"]}
  w8a8: {model_id: "acme/moss-30b-w8a8", supported_hardware: [ascend_950dt]}
compatible_strategies: [single_node_tp, multi_node_tp, pd_cluster]
hardware_overrides:
  blackwell: {extra_args: ["--moe-backend", "marlin"]}
  amd: {extra_args: ["--moe-backend", "aiter"]}
strategy_overrides:
  multi_node_tp: {extra_args: ["--max-num-seqs", "16"], extra_env: {C: "nodes"}}
guide: |
  # Moss
"""

SERVED = (
    "vllm serve acme/moss-30b-NVFP4 --trust-remote-code --block-size 64 --kv-cache-dtype fp8 --max-num-seqs 8 "
    "--moe-backend marlin --enable-auto-tool-choice --tool-call-parser moss --mm-encoder-tp-mode data"
)


def read(text: str = FILE, name: str = "moss") -> Recipe:
    return formats.read(name, parse(text.encode(), "moss.yaml"), recipes.flag_table())


def changed(change: Callable[[Any], Any], name: str = "moss") -> Recipe:
    """The recipe from the file after a change of its content."""
    document = yaml.safe_load(FILE)
    change(document)
    return read(yaml.safe_dump(document, sort_keys=False), name)


def served(recipe: Recipe, kind: Any = "solo") -> str:
    return " ".join(command_line(effective(recipe, kind, Overrides())))


def env(recipe: Recipe, kind: Any = "solo") -> dict[str, str]:
    return {name: one.value for name, one in effective(recipe, kind, Overrides()).env.items()}


def said(recipe: Recipe) -> list[str]:
    assert recipe.foreign
    return [caveat.text for caveat in recipe.foreign.caveats]


def test_layers_are_added_in_the_order_of_the_site_and_the_last_one_counts() -> None:
    recipe = read()
    assert served(recipe) == SERVED
    assert env(recipe) == {"A": "gb10", "B": "feature"}
    assert recipe.container == "vllm/vllm-openai:moss"
    assert recipe.args["max-num-seqs"].origin == "moss.yaml:42"
    assert (recipe.metadata.hardware, recipe.metadata.weights_gib) == ("DGX Spark, verified by the authors", 16.3)
    assert said(recipe) == []


def test_a_cluster_gets_the_strategy_over_nodes() -> None:
    recipe = read()
    assert served(recipe, "cluster") == SERVED.replace("--max-num-seqs 8", "--max-num-seqs 16")
    assert env(recipe, "cluster") == {"A": "gb10", "B": "feature", "C": "nodes"}
    assert shapes.kinds(recipe) == ("solo", "cluster")


@pytest.mark.parametrize(
    ("name", "model", "drafts"),
    [
        ("moss#default", "acme/moss-30b", None),
        ("moss#+spec_decoding", "acme/moss-30b-NVFP4", 3),
        ("moss#nvfp4+spec_decoding:eagle", "acme/moss-30b-NVFP4", 2),
    ],
)
def test_a_name_chooses_variant_feature_and_mode(name: str, model: str, drafts: int | None) -> None:
    recipe = read(name=name)
    assert (recipe.name, recipe.model) == (name, model)
    given = recipe.args.get("speculative-config")
    assert (given and given.value["num_speculative_tokens"]) == drafts
    if drafts:
        assert "speculative-config" not in effective(recipe, "cluster", Overrides()).args
        assert said(recipe) == ["the feature spec_decoding stays off on several nodes: the file does not list it there"]


def test_the_usual_variant_is_that_for_gb10_else_the_largest_that_fits_else_the_smallest() -> None:
    def variants(**memory: int) -> Recipe:
        made = {name: {"model_id": name, "vram_minimum_gb": size} for name, size in memory.items()}
        return changed(lambda file: file.update(variants=made))

    assert read().model == "acme/moss-30b-NVFP4"
    assert variants(bf16=240, fp8=120, nvfp4=60).model == "fp8"
    assert variants(bf16=953, nvfp4=238, int4=239).model == "nvfp4"


def test_a_model_larger_than_a_node_is_for_as_many_nodes_as_it_needs() -> None:
    recipe = changed(lambda file: file.update(variants={"default": {"vram_minimum_gb": 300}}))
    assert (recipe.only, recipe.nodes.min) == (("cluster",), 3)
    assert said(recipe) == []
    alone = changed(
        lambda file: file.update(
            variants={"default": {"vram_minimum_gb": 170}}, compatible_strategies=["single_node_tp"]
        )
    )
    assert (alone.only, alone.nodes.min) == (("cluster",), 2)
    assert said(alone) == ["the file has no strategy over nodes; sparkops splits the model, because it needs 170 GB"]
    many = changed(lambda file: file.update(strategy_min_gpus={"single_node_tp": 8, "multi_node_tp": 4}))
    assert (many.only, many.nodes.min) == (("cluster",), 4)


def test_a_file_without_a_strategy_over_nodes_is_for_one_node() -> None:
    assert changed(lambda file: file.update(compatible_strategies=["single_node_tp"])).only == ("solo",)
    gated = changed(lambda file: file.update(strategy_hardware={"multi_node_tp": {"nvidia": "unsupported"}}))
    assert gated.only == ("solo",)


def test_the_default_strategy_counts_and_its_settings_replace_those_of_the_hardware() -> None:
    def change(file: Any) -> None:
        file.update(compatible_strategies=["single_node_tp", "single_node_tep", "multi_node_tep", "multi_node_tp"])
        file["default_strategy"] = "single_node_tep"
        file["strategy_overrides"] = {"single_node_tep": {"hardware_overrides": {"blackwell": {"extra_args": []}}}}

    recipe = changed(change)
    assert "--enable-expert-parallel" in served(recipe)
    assert "--enable-expert-parallel" in served(recipe, "cluster")
    assert ("marlin" in served(recipe), "marlin" in served(recipe, "cluster")) == (False, True)


def test_images_are_those_of_the_hardware_then_of_the_variant_then_of_the_model_then_of_vllm() -> None:
    def image(change: Callable[[Any], Any]) -> str:
        return changed(change).container

    own = {"docker_image": "eugr/spark-vllm:nightly", "docker_serve_command": "vllm serve"}
    assert image(lambda file: file["variants"]["nvfp4"]["hardware_overrides"]["dgx_spark_gb10"].update(own)) == (
        "eugr/spark-vllm:nightly"
    )
    assert image(lambda file: file["variants"]["nvfp4"].pop("docker_image")) == "vllm/vllm-openai:latest"
    nightly = {"docker_image": {"amd": "x"}, "nightly_required": True}
    assert image(lambda file: file["variants"]["nvfp4"].update(nightly)) == "vllm/vllm-openai:nightly"


def test_what_runs_beside_or_before_the_engine_is_told() -> None:
    def change(file: Any) -> None:
        file["features"]["tool_calling"]["companion"] = {"label": "Server", "command": "moss-server --port 1"}
        file["dependencies"] = [
            {"command": "uv pip install x"},
            {"command": "hf download acme/moss", "install_modes": ["pip", "docker"]},
            {"command": "rocm-only", "install_modes": ["docker"], "brand": ["AMD"]},
        ]
        file["colour"] = "green"

    assert said(changed(change)) == [
        "sparkops does not run `hf download acme/moss` on the node",
        "sparkops does not run `moss-server --port 1` beside the engine",
        "sparkops does not use the key colour",
    ]


def test_hardware_that_the_authors_did_not_test_is_a_warning_if_it_was_asked_for() -> None:
    def change(file: Any) -> None:
        file["variants"]["nvfp4"]["supported_hardware"] = ["b200", "rtx_5090"]

    assert changed(change).model == "acme/moss-30b"
    text = "the authors list the variant nvfp4 for b200, rtx_5090, not for DGX Spark"
    assert said(changed(change, "moss#nvfp4")) == [text]


def test_a_rust_frontend_is_a_variable() -> None:
    assert env(changed(lambda file: file["model"].update(default_frontend={"default": "rust"})))[
        "VLLM_USE_RUST_FRONTEND"
    ]
    assert "VLLM_USE_RUST_FRONTEND" not in env(
        changed(lambda file: file["model"].update(default_frontend={"default": "rust", "dgx_spark_gb10": "python"}))
    )


WRONG = Path(__file__).parent / "said" / "recipes-vllm-ai-refused.txt"


def test_what_a_gb10_cannot_run_and_what_is_wrong_is_refused_with_its_line() -> None:
    """An input is the key's path and the value that it gets, or the name that is asked for."""
    golden.hold_lines(WRONG, lambda line: golden.refusal(lambda: served(refused(line.removeprefix("| ")))))


def refused(line: str) -> Recipe:
    if line.startswith("#"):
        return read(name=f"moss{line}")
    path, _, value = line.partition(": ")

    def change(file: Any) -> None:
        *above, last = path.split(".")
        for key in above:
            file = file[key]
        file[last] = yaml.safe_load(value)

    return changed(change)


@pytest.mark.parametrize("schema", SCHEMAS)
def test_an_export_starts_the_same_engine(schema: str) -> None:
    recipe = read(name="moss#+spec_decoding")
    text = exported(recipe, schema)
    document = parse(text.encode(), "again.yaml")
    if schema != "sparkops":
        assert written(formats.read("again", document, recipes.flag_table())) == written(recipe)
    over = effective(recipe, "cluster", Overrides())
    again = exported(recipe, schema, over)
    assert "16" in again
    assert "num_speculative_tokens" not in again


def read_or_refused(text: str, name: str) -> Recipe | str:
    try:
        return read(text, name)
    except UsageError as error:
        return error.message


PIECES = ("[", "{", ": ", "- ", "null", "[a]", "{x: 1}", "'", "$X", "-1", "!x ", "&a ", "\n  ", "default", "#")


@given(st.data())
def test_whatever_is_put_in_or_taken_out_is_read_or_refused_with_a_line(data: st.DataObject) -> None:
    text = FILE
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text)))
        gone = data.draw(st.sampled_from([0, 0, 1, 2, 7, 40, 120]))
        text = text[:at] + data.draw(st.sampled_from(["", *PIECES])) + text[at + gone :]
    recipe = read_or_refused(
        text, data.draw(st.sampled_from(["moss", "moss#nvfp4", "moss#w8a8", "moss#+spec_decoding"]))
    )
    if isinstance(recipe, str):
        assert recipe.startswith("moss.yaml:")
        return
    for kind in topology.parse("solo"), topology.parse("cluster"):
        assert all(isinstance(word, str) for word in command_line(effective(recipe, kind.kind, Overrides())))
