"""Benchmarks that were kept decide before anything that others published."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sparkops.cli.main import main
from sparkops.core.advice import advise, measured_here
from sparkops.core.bench.record import Record, load
from sparkops.core.bench.suites import Suite
from sparkops.files import bench_records

GPT = "openai/gpt-oss-120b"


def metric(mean: float) -> dict[str, Any]:
    return {"mean": mean, "std": 0.0, "values": [mean, mean]}


def record(topology: str, decode: float, prompt: int = 1024, started: str = "2026-11-20T12:00:00Z") -> Record:
    """One run at concurrency 8 as llama-benchy and `bench run` leave it."""
    metrics = ("pp_throughput", "pp_req_throughput", "tg_req_throughput", "peak_throughput", "peak_req_throughput")
    times = ("ttfr", "est_ppt", "e2e_ttft")
    sizes = {"concurrency": 8, "context_size": 0, "prompt_size": prompt, "response_size": 128}
    entry = {
        **sizes,
        "is_context_prefill_phase": False,
        "tg_throughput": metric(decode),
        **{name: metric(1000.0) for name in metrics},
        **{name: metric(100.0) for name in times},
    }
    name = f"{started[:10].replace('-', '')}T{started[11:19].replace(':', '')}Z-{topology}-{prompt}"
    suite = Suite("mine", "", "", (prompt,), (128,), (8,), runs=2)
    lock = {"deployment": "d", "hash": "h", "sparkops": "0.1", "nodes": {}}
    lock |= {"revision": {"topology": topology, "model": GPT}}
    return Record(name, started, suite, topology, "http://x/v1", GPT, {}, ({"benchmarks": [entry]},), lock)


def test_the_newest_run_of_each_topology_counts() -> None:
    old, new = record("cluster", 300.0, started="2026-11-01T00:00:00Z"), record("cluster", 200.0)
    found = measured_here([new, old, record("2x-solo", 250.0)], GPT)
    values = {one.topology: one.value for one in found if one.metric == "decode"}
    assert values == {"cluster": 200.0, "2x-solo": 250.0}
    assert advise("decode", 8, found).topology == "2x-solo"
    assert all(one.own for one in found)


def test_runs_in_a_lab_are_never_evidence() -> None:
    runs = [replace(record(topology, 3518.0), lab=True) for topology in ("cluster", "2x-solo")]
    assert measured_here(runs, GPT) == ()
    assert measured_here([load(one.document()) for one in runs], GPT) == ()


def test_runs_of_different_sizes_are_not_compared() -> None:
    found = measured_here([record("cluster", 200.0, prompt=2048), record("2x-solo", 900.0, prompt=512)], GPT)
    assert len({one.topology for one in found}) == 1
    both = measured_here(
        [record("cluster", 200.0), record("2x-solo", 150.0), record("2x-solo", 900.0, 512, "2026-11-25T00:00:00Z")], GPT
    )
    assert {one.topology: one.value for one in both if one.metric == "decode"} == {"cluster": 200.0, "2x-solo": 150.0}


@pytest.mark.parametrize(
    "wrong",
    [
        replace(record("cluster", 1.0), problems=("interrupted",)),
        replace(record("cluster", 1.0), lock=None),
        replace(record("cluster", 1.0), lock={"revision": {"topology": "cluster", "model": "other/model"}}),
    ],
    ids=["broken", "of nothing known", "another model"],
)
def test_what_is_no_result_of_this_model_is_no_evidence(wrong: Record) -> None:
    assert measured_here([wrong], GPT) == ()


def test_advice_takes_what_was_kept_and_names_what_cannot_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.delenv("SPARKOPS_INVENTORY", raising=False)
    monkeypatch.chdir(tmp_path)
    for one in (record("cluster", 200.0), record("2x-solo", 250.0)):
        bench_records.keep(one)
    words = ("advise", "--for", "decode", "--concurrency", "8")
    assert main(words) == 0
    text = capsys.readouterr().out
    assert text.startswith("use 2x-solo for decode with 8 requests at once")
    assert "2x-solo (your own benchmarks): best at concurrency 8: 25 % more tokens/s than cluster" in text
    assert text.index("your own benchmarks") < text.index("decision table") < text.index("measured by others")
    bench_records.keep(replace(record("solo", 1.0), id="broken"))
    for path in (tmp_path / "XDG_STATE_HOME").rglob("broken.json"):
        path.write_text("{}")
    assert main(words) == 0
    assert "broken.json: is not a sparkops benchmark" in capsys.readouterr().out
