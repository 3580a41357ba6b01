"""Benchmarks as values: what is asked, what counts as a number, what may stand side by side."""

from __future__ import annotations

import copy
import json
from dataclasses import replace

import pytest

from sparkops.commands import benchy
from sparkops.core.bench.charts import charts, crossings, power
from sparkops.core.bench.compare import beside_published, gaps, side_by_side
from sparkops.core.bench.measured import Metric, Row, read
from sparkops.core.bench.progress import Progress
from sparkops.core.bench.record import NotARecord, Record, load, series
from sparkops.core.bench.samples import Sample, watched, wedged
from sparkops.core.bench.suites import SUITES, Point, Suite, suite
from sparkops.core.bench.trouble import cure
from sparkops.core.plan import Secret
from sparkops.core.reference import Point as Published

TWO = Suite("two", "", "", (256,), (16,), (1, 2), runs=2)


def metric(*values):
    mean = sum(values) / len(values)
    return {"mean": mean, "std": 0.0, "values": list(values)}


def entry(concurrency=1, **changed):
    """A benchmark entry as llama-benchy 0.4.0 writes it."""
    each = [100.0] * concurrency * 2
    found = {
        "concurrency": concurrency, "context_size": 0, "prompt_size": 256, "response_size": 16,
        "is_context_prefill_phase": False, "pp_throughput": metric(2000.0, 2200.0),
        "pp_req_throughput": metric(*each), "tg_throughput": metric(100.0 * concurrency, 110.0 * concurrency),
        "tg_req_throughput": metric(*each), "peak_throughput": metric(120.0 * concurrency, 130.0 * concurrency),
        "peak_req_throughput": metric(*each), "ttfr": metric(*each), "est_ppt": metric(*each),
        "e2e_ttft": metric(*each), "throughput_over_time": None, "requests_throughput_over_time": None,
    }  # fmt: skip
    return {**found, **changed}


def document(*entries):
    return {"version": "0.4.0", "model": "m", "benchmarks": list(entries)}


def record(label="solo", factor=1.0, **changed):
    raw = tuple(
        document(entry(count, tg_throughput=metric(100.0 * count * factor, 102.0 * count * factor))) for count in (1, 2)
    )
    made = Record(
        "20261120T120000Z-two-abc123", "2026-11-20T12:00:00Z", TWO, label, "http://x/v1", "m", {}, raw, lock()
    )
    return replace(made, **changed)


def lock(**changed):
    revision = {"recipe": "r", "topology": "solo", "executor": None, "args": {"max-model-len": 4096}, "env": {}}
    node = {"role": "server", "image": "i", "model": "v", "driver": "580.1", "kernel": "6.11", "spec": 1}
    return {
        "deployment": "r", "hash": "h", "sparkops": "0.1", "locked": "", "revision": {**revision, **changed},
        "nodes": {"spark1": node},
    }  # fmt: skip


def test_the_numbers_are_llama_benchys_own():
    found = read([document(entry(1)), document(entry(2))], TWO)
    assert found.problems == ()
    assert [row.point for row in found.rows] == list(TWO.points)
    second = found.rows[1].metrics
    assert (second["decode"].mean, second["decode"].values) == (210.0, (200.0, 220.0))
    assert second["prefill"].mean == 2100.0
    assert second["itl"].mean == 10.0
    assert second["e2e"].mean == 100.0 + 10.0 * 15


@pytest.mark.parametrize(
    ("entries", "told"),
    [
        ([entry(1), entry(2, tg_throughput=None)], "concurrency 2: tg_throughput is null"),
        ([entry(1)], "concurrency 2: was not measured"),
        ([], "has no benchmarks"),
        ([entry(1), entry(2, ttfr={"mean": float("nan"), "std": 0, "values": []})], "ttfr is null"),
        ([entry(1), entry(2, e2e_ttft={"mean": 1.0, "std": 0, "values": []})], "e2e_ttft is null"),
        ([{"concurrency": 1}, entry(1), entry(2)], "an entry without its sizes"),
    ],
)
def test_what_is_missing_is_a_problem_and_never_a_number(entries, told):
    found = read([document(*entries)], TWO)
    assert any(told in problem for problem in found.problems)
    assert all(row.metrics["decode"].mean > 0 for row in found.rows)


def test_a_prompt_that_was_over_too_soon_has_a_cure():
    (problem,) = read([document(entry(1), entry(2, pp_throughput=None))], TWO).problems
    assert "--set pp=" in (cure(problem) or "")


def test_every_suite_asks_for_something_and_has_a_source():
    assert len({one.id for one in SUITES}) == len(SUITES)
    for one in SUITES:
        points = list(one.points)
        assert len(set(points)) == len(points) > 0
        assert one.source
    assert {one.id for one in SUITES} >= {"smoke", "sweep", "arena", "concurrency", "stampede"}
    assert suite("nonsense") is None


def test_requests_are_counted_as_they_are_sent():
    assert TWO.requests == 2 * 1 + 2 * 2
    deep = replace(TWO, depths=(0, 128), prefix_caching=True)
    assert deep.requests == 6 + 12


def test_the_command_line_says_what_offline_and_failing_runs_need():
    words = benchy.words(TWO, Point(256, 16, 0, 2), benchy.Target("http://x/v1", "m", "/t.json", coherence=False))
    line = " ".join(words)
    for part in (
        "--model m",
        "--tokenizer /t.json",
        "--exit-on-first-fail",
        "--exact-tg",
        "--concurrency 2",
        "--runs 2",
    ):
        assert part in line
    assert "--skip-coherence" in words
    assert "," not in line


def test_options_of_other_tools_are_translated_or_refused_with_the_reason():
    made, refused = benchy.adjusted(
        TWO, {"--concurrency": "1,2,4", "random_input_len": 64, "tg": [8, 16], "runs": "5", "prefix-caching": True}
    )
    assert refused == ()
    assert (made.concurrency, made.prompts, made.answers, made.runs) == ((1, 2, 4), (64,), (8, 16), 5)
    assert made.prefix_caching is True
    made, refused = benchy.adjusted(TWO, {"--url": "x", "num-prompts": 5, "nonsense": 1, "runs": "0", "pp": "a"})
    assert made == TWO
    assert len(refused) == 5
    assert "`runs` of `concurrency`" in refused[1]
    assert "no option of a benchmark" in refused[2]


def test_a_record_is_read_back_as_it_was_written():
    one = record(samples=(Sample("spark1", 1.0, 2400.0, 60.0, 50.0, 1000),), problems=("p",))
    assert load(json.loads(json.dumps(one.document()))) == one


@pytest.mark.parametrize("broken", [None, [], {}, {"kind": "sparkops-bench", "schema": 99}])
def test_what_is_no_record_is_said_in_one_line(broken):
    with pytest.raises(NotARecord):
        load(broken)
    damaged = copy.deepcopy(record().document())
    del damaged["suite"]
    with pytest.raises(NotARecord, match="is damaged"):
        load(damaged)


def test_a_gpu_that_never_gets_going_is_noticed():
    fine = [Sample("spark1", 0.0, 208.0), Sample("spark1", 10.0, 2411.0)]
    stuck = [Sample("spark2", 0.0, 208.0), Sample("spark2", 10.0, 702.0)]
    assert wedged([*fine, *stuck, Sample("spark3", 0.0)]) == {"spark2": 702.0}


def test_equal_things_may_be_compared_and_others_only_when_it_is_named():
    first = record()
    assert list(gaps(first, record(), frozenset())) == []
    other = record(lock=lock(args={"max-model-len": 8192}))
    assert [gap.text for gap in gaps(first, other, frozenset())] == ["flags: --max-model-len 4096 and 8192"]
    assert list(gaps(first, other, frozenset({"flags"}))) == []
    cluster = record(lock=lock(topology="cluster", args={"max-model-len": 4096, "enforce-eager": True}))
    assert len(list(gaps(first, cluster, frozenset()))) == 2
    assert list(gaps(first, cluster, frozenset({"topology"}))) == []
    assert [gap.text for gap in gaps(first, other, frozenset({"topology"}))] == ["flags: --max-model-len 4096 and 8192"]
    assert list(gaps(first, other, frozenset({"topology"}), ["--max-model-len"])) == []


def test_a_url_of_which_nothing_is_known_compares_with_nothing():
    told = [gap.text for gap in gaps(record(), record(lock=None), frozenset({"topology"}))]
    assert told == ["one of them is a URL of which nothing is known"]


def test_side_by_side_shows_every_concurrency_and_the_gain():
    first, second = record().measured.rows, record(factor=1.5).measured.rows
    decode = next(one for one in side_by_side([first, second[:1]]) if one.metric == "decode")
    assert [(count, [v and v.mean for v in values]) for count, values in decode.rows] == [
        (1, [101.0, 151.5]),
        (2, [202.0, None]),
    ]
    assert decode.gains(decode.rows[0][1]) == [pytest.approx(50.0)]
    assert decode.gains(decode.rows[1][1]) == [None]


def test_published_numbers_stand_beside_at_the_same_concurrency_only():
    points = [Published("decode", "solo", count, value, "who", "2026") for count, value in ((1, 50.0), (64, 300.0))]
    found = list(beside_published(record().measured.rows, points))
    assert [(one.metric, [count for count, _ in one.rows]) for one in found] == [("decode", [1])]
    assert found[0].gains(found[0].rows[0][1]) == [pytest.approx(102.0)]


def rows(values):
    names = ("decode", "prefill", "ttft", "decode-per-request", "peak")
    return [
        Row(Point(1024, 128, 0, count), {name: Metric(value, 1.0, (value,)) for name in names})
        for count, value in values
    ]


def test_the_crossover_is_marked_where_one_line_overtakes_the_other():
    """The published topology comparison: two solo servers overtake the cluster between 32 and 64."""
    cluster = rows([(1, 69.0), (16, 342.1), (32, 471.7), (64, 471.8)])
    solos = rows([(1, 57.7), (16, 268.6), (32, 382.1), (64, 567.9)])
    made = {chart.id: chart for chart in charts({"cluster": cluster, "2x-solo": solos})}
    assert set(made) == {"throughput", "prefill", "ttft", "per-request", "peak"}
    crossing = made["throughput"].crossings
    assert [(one.leader, one.before, one.after) for one in crossing] == [("2x-solo", 32, 64)]
    assert list(crossings(made["prefill"].lines[:1])) == []
    assert power({"spark1": [(0.0, 20.0), (10.0, 60.0)]}).lines[0].y == (20.0, 60.0)


def test_equal_labels_are_told_apart():
    twice = series("t", [record(), record(id="20261120T130000Z-two-def456"), record("cluster")])
    assert list(twice.records) == ["solo abc123", "solo def456", "cluster"]


def test_an_idle_look_says_nothing_of_a_clock():
    idle = Sample("spark1", 1.0, 208.0, 12.0, 40.0, 8 << 20, 3.0)
    assert wedged([idle]) == {}
    busy = Sample("spark1", 11.0, 2400.0, 60.0, 55.0, 4 << 20, 97.0)
    assert wedged([idle, Sample("spark2", 1.0, 513.0, 14.0, 40.0, 1, 96.0)]) == {"spark2": 513.0}
    (one,) = watched([idle, busy])
    assert (one.power_mean_w, one.power_peak_w, one.clock_mhz, one.temperature_c) == (36.0, 60.0, 2400.0, 55.0)
    assert one.available_gib == 4.0


def test_progress_is_a_bar_with_what_is_left():
    line = Progress(points=4, before=1, requests=8, ended=4).line(60)
    assert line == "wait [#######-------------] point 2 of 4, 4 of 8 requests, about 2 min left"
    assert Progress(1, 0, 1, 3).line(5).endswith("about 0 min left")


def test_a_recipes_own_words_become_a_suite():
    words = ("--pp", "2048", "--tg", "128", "--concurrency", "1", "2", "4", "--runs=5", "--exact-tg", "--url", "x")
    made, refused = benchy.adjusted(TWO, benchy.options(words))
    assert (made.prompts, made.answers, made.concurrency, made.runs) == ((2048,), (128,), (1, 2, 4), 5)
    assert [line.partition(":")[0] for line in refused] == ["--url"]


def test_in_a_container_the_key_is_in_no_word_and_nothing_is_fetched():
    snapshot = benchy.Snapshot("/home/a b/hub/models--x", "abc")
    command = benchy.in_container("TEXT", ("--pp", "1"), snapshot, "/books/b.txt", Secret("bench key"))
    line = [str(word) for word in command.words]
    assert command.stdin == Secret("bench key")
    assert line[line.index("--pull") + 1] == "never"
    assert "/home/a b/hub/models--x:/model:ro" in line
    assert line[-6:] == ["llama-benchy:0.4.0", "python3", "-c", "TEXT", "--pp", "1"]


def test_what_an_interrupt_leaves_is_unfinished_and_what_failed_is_failed():
    whole = record()
    assert whole.state == "ok"
    assert replace(whole, raw=()).state == "unfinished"
    assert replace(whole, problems=("x",)).state == "failed"
