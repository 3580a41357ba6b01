"""What the concurrency article published stands beside a run, and in `recipe show`, as it was printed there."""

import json
from dataclasses import replace

import pytest

from sparkops.cli.main import main
from sparkops.core.bench.record import Record
from sparkops.core.bench.suites import suite
from sparkops.core.reference import differences
from sparkops.files import bench_records
from sparkops.files.reference import tables

RECIPE = "openai-gpt-oss-120b-concurrency"
LOCK = {"deployment": "d", "hash": "h", "sparkops": "0.1", "nodes": {}}
ARTICLE = (
    (1, "5,115", "60.4", "60.4"),
    (2, "5,317", "80.3", "84"),
    (4, "5,935", "107.2", "121"),
    (5, "6,297", "118.7", "128"),
    (8, "6,518", "141.9", "173"),
    (10, "6,721", "160.5", "192"),
    (16, "6,846", "181.2", "272"),
    (32, "6,732", "202.0", "384"),
    (64, "6,998", "229.2", "568"),
    (128, "7,034", "271.0", "768"),
    (256, "5,391", "285.8", "1,024"),
)
"""Concurrency, prefill, generation, peak as its table has them."""


def number(text):
    return float(text.replace(",", ""))


def entry(count):
    def metric(value):
        return {"mean": value, "std": 0.0, "values": [value]}

    rates = ("pp_throughput", "tg_throughput", "tg_req_throughput", "peak_throughput", "ttfr", "e2e_ttft")
    sizes = {"concurrency": count, "context_size": 0, "prompt_size": 2048, "response_size": 128}
    return {**sizes, **{name: metric(100.0) for name in rates}}


@pytest.fixture
def measured(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    asked = suite("concurrency")
    raw = ({"benchmarks": [entry(count) for count in asked.concurrency]},)
    lock = {**LOCK, "revision": {"recipe": RECIPE, "topology": "solo"}}
    bench_records.keep(Record("one", "2026-11-20", asked, "solo", "http://x/v1", "m", {}, raw, lock))


def test_a_run_stands_beside_every_value_of_the_article(measured, capsys):
    assert main(["bench", "compare", "one", "--reference", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    published = {
        table["metric"]: [(row["concurrency"], row["values"][0]["mean"]) for row in table["rows"]]
        for table in found["comparisons"]
    }
    for place, metric in enumerate(("prefill", "decode", "peak"), 1):
        assert published[metric] == [(row[0], number(row[place])) for row in ARTICLE]
    assert found["comparisons"][0]["rows"][0]["values"][1]["mean"] == 100.0
    assert "dendro-logic" in found["notes"][0]


def test_its_tables_are_the_same_in_recipe_show_and_beside_a_run(measured, capsys):
    main(["recipe", "show", RECIPE, "--json"])
    shown = json.loads(capsys.readouterr().out)["reference"]
    main(["bench", "compare", "one", "--reference", "--json"])
    assert json.loads(capsys.readouterr().out)["reference"] == shown
    rows = [tuple(row) for row in shown[0]["rows"]]
    assert rows == [(row[0], *map(number, row[1:])) for row in ARTICLE]


def test_people_read_the_numbers_as_they_were_printed(measured, capsys):
    for words in (["recipe", "show", RECIPE], ["bench", "compare", "one", "--reference"]):
        assert main(words) == 0
        lines = [line.split() for line in capsys.readouterr().out.splitlines()]
        for count, *values in ARTICLE:
            plain = [f"{number(value):g}" for value in values]
            assert [str(count), *plain] in lines


def test_flags_that_differ_from_the_published_runs_are_named_before_any_percentage(measured, capsys):
    base = "openai-gpt-oss-120b"
    args = {"gpu-memory-utilization": 0.9, "max-model-len": 4096, "kv-cache-dtype": "fp8", "enforce-eager": True}
    lock = {**LOCK, "revision": {"recipe": base, "topology": "solo", "args": args}}
    kept = bench_records.record("one")
    bench_records.keep(replace(kept, id="two", lock=lock))
    assert main(["bench", "compare", "two", "--reference"]) == 0
    shown = capsys.readouterr().out
    assert "--gpu-memory-utilization: 0.7 in the published runs, 0.9 in this run" in shown
    assert "--max-num-batched-tokens: 32768 in the published runs, not set in this run" in shown
    assert "--max-model-len" not in shown.partition("means, with")[0]
    sizes = {(row.point.prompt, row.point.answer) for row in kept.measured.rows}
    told = "tokens of prompt and answer: 1024 and 128 in the published runs"
    assert (told in shown) == (sizes != {(1024, 128)})
    assert f"{told}, 512 and 32 in this run" in list(differences(tables(base), "solo", args, [(512, 32)]))
    assert shown.index("set up otherwise") < shown.index("%")
