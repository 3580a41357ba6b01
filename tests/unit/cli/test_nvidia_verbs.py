"""What the commands about recipes say of NVIDIA's, and that its numbers stay its own."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sparkops.core.bench.record import Record
from sparkops.core.bench.suites import Suite
from sparkops.files import bench_records
from support.paths import TESTS

Run = Callable[..., Any]
THEIRS = TESTS / "unit/formats/nvidia"
SOLO, PAIR = (str(THEIRS / name / "recipe.yaml") for name in ("tern-8b/dgx-spark", "marlin-70b/dgx-spark-2gpu"))
OWN = "NVIDIA, performance.yaml beside the recipe"


def kept(model: str) -> None:
    """One benchmark of ours on one node, one request at a time."""
    sizes = {"concurrency": 1, "context_size": 0, "prompt_size": 4096, "response_size": 128}
    names = ("pp_throughput", "pp_req_throughput", "tg_req_throughput", "peak_throughput", "peak_req_throughput")
    values = {name: {"mean": 100.0, "std": 0.0, "values": [100.0, 100.0]} for name in (*names, "tg_throughput")}
    times = dict.fromkeys(("ttfr", "est_ppt", "e2e_ttft"), values["tg_throughput"])
    entry = {**sizes, "is_context_prefill_phase": False, **values, **times}
    suite = Suite("mine", "", "", (4096,), (128,), (1,), runs=2)
    lock = {"deployment": "d", "hash": "h", "sparkops": "0.1", "nodes": {}}
    lock |= {"revision": {"topology": "solo", "model": model, "recipe": "elsewhere", "args": {"max-model-len": 4096}}}
    began = "2026-11-20T12:00:00Z"
    bench_records.keep(
        Record("20261120T120000Z", began, suite, "ours", "http://x/v1", model, {}, ({"benchmarks": [entry]},), lock)
    )


def test_a_recipe_is_shown_with_its_stack_its_limits_and_numbers_that_are_theirs(sparkops: Run) -> None:
    told = sparkops("recipe", "show", SOLO, "--json").document
    assert told["author"] == {"topologies": ["solo"]}
    assert told["recipe"]["metadata"]["tested_with"] == {
        "driver": "580.150.01", "os": "Ubuntu 24.04.4 LTS", "cuda": "13.0", "vllm": "0.29.0",
    }  # fmt: skip
    (table,) = told["reference"]
    assert (table["source"], table["date"], table["rows"]) == (
        OWN, "2026-10-12", [["long", 1, 4096, 128, 3111.5, 61.25, 3406.1]],
    )  # fmt: skip
    text = sparkops("recipe", "show", SOLO).out
    for line in ("tested with", "trade-offs", "made for 6 requests at once", "NVIDIA's values, not measured by"):
        assert line in text
    assert "runs as cluster over 2 nodes by executor mp: tensor parallel size 2" in sparkops("recipe", "show", PAIR).out


def test_advice_shows_what_nvidia_measured_as_theirs_and_follows_other_evidence(sparkops: Run) -> None:
    told = sparkops("advise", "--for", "decode", "--concurrency", "1", "--recipe", SOLO, "--json").document
    point = {"topology": "solo", "concurrency": 1, "value": 61.25, "source": OWN, "date": "2026-10-12"}
    assert told["published"] == [point]
    assert OWN not in [opinion["source"] for opinion in told["opinions"]]
    text = sparkops("advise", "--for", "decode", "--concurrency", "1", "--recipe", SOLO).out
    assert (
        "solo (published for this recipe, no other topology to compare with): 61.25 tokens/s at concurrency 1" in text
    )
    assert f"    {OWN}, 2026-10-12" in text


def test_a_run_is_compared_with_the_numbers_of_a_recipe_that_is_named(sparkops: Run) -> None:
    kept("acme/Tern-8B-NVFP4")
    refused = sparkops("bench", "compare", "last", "--reference", "--json")
    assert (refused.code, refused.document["error"]["hint"]) == (3, "if you have the recipe's file: --recipe FILE")
    told = sparkops("bench", "compare", "last", "--reference", "--recipe", SOLO, "--json").document
    decode = next(one for one in told["comparisons"] if one["metric"] == "decode")
    assert [value["mean"] for value in decode["rows"][0]["values"]] == [61.25, 100.0]
    assert told["notes"] == [f"published: {OWN}, 2026-10-12"]
    assert told["differences"][0] == "--max-model-len: 65536 in the published runs, 4096 in this run"
    assert [line.split(":")[0] for line in told["differences"]] == [
        *("--max-model-len", "--gpu-memory-utilization", "--speculative-config"),
    ]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--reference", "--recipe", PAIR), "serves acme/Marlin-70B; the run measured acme/Tern-8B-NVFP4"),
        (("--recipe", SOLO), "--recipe names the recipe of --reference"),
    ],
)
def test_a_recipe_of_another_model_is_no_reference(sparkops: Run, words: tuple[str, ...], said: str) -> None:
    kept("acme/Tern-8B-NVFP4")
    told = sparkops("bench", "compare", "last", *words)
    assert told.code in (2, 3)
    assert said in told.err


def test_its_recipes_are_listed_and_found_with_ours(sparkops: Run, own_home: Path) -> None:
    folder = own_home / "recipes"
    folder.mkdir()
    shutil.copy(SOLO, folder / "tern.yaml")
    shutil.copy(PAIR, folder / "marlin.yaml")
    shutil.copy(Path(SOLO).with_name("performance.yaml"), folder / "numbers.yaml")
    told = sparkops("recipe", "list", "--json").document
    fits = {one["name"]: [fit["topology"] for fit in one["fits"] if fit["fit"] != "no"] for one in told["recipes"]}
    assert (fits["tern"], fits["marlin"]) == (["solo", "2x-solo"], ["cluster"])
    assert told["warnings"] == ["recipes/numbers.yaml:1: is no recipe: the file holds measured results"]
    found = sparkops("recipe", "search", "megapixels", "--json").document["recipes"]
    assert [one["name"] for one in found] == ["tern"]


def test_lint_says_once_what_differs_from_the_recipes_own_launch(sparkops: Run) -> None:
    told = sparkops("lint", PAIR, "--format", "json")
    assert told.code == 0
    (entry,) = json.loads(told.out)["files"]
    messages = [one["message"] for one in entry["findings"] if one["id"] == "not-carried-over"]
    assert entry["topology"] == "cluster"
    assert [message for message in messages if "--nnodes" in message] == [messages[0]]
    assert {one["in"] for one in entry["findings"]} == {PAIR}
