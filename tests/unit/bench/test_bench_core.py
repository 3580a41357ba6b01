"""Benchmarks as values: what is asked, what counts as a number, what may stand side by side."""

import copy
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from sparkops.core.bench.charts import Chart, ChartLine, charts, power
from sparkops.core.bench.compare import beside_published, gaps, side_by_side
from sparkops.core.bench.measured import Metric, Row, read
from sparkops.core.bench.progress import Progress
from sparkops.core.bench.record import NotARecord, Record, load, series
from sparkops.core.bench.samples import Sample, watched, wedged
from sparkops.core.bench.suites import SUITES, Point, Suite, suite
from sparkops.core.bench.trouble import cure
from sparkops.core.reference import ReferencePoint as Published
from support import golden

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


def test_every_suite_asks_for_something_and_has_a_source():
    assert len({one.id for one in SUITES}) == len(SUITES)
    for one in SUITES:
        points = list(one.points)
        assert len(set(points)) == len(points) > 0
        assert one.source
    assert {one.id for one in SUITES} >= {"smoke", "sweep", "arena", "concurrency", "stampede"}
    assert suite("nonsense") is None


def test_a_record_is_read_back_as_it_was_written():
    one = record(samples=(Sample("spark1", 1.0, 2400.0, 60.0, 50.0, 1000),), problems=("p",))
    assert load(json.loads(json.dumps(one.document()))) == one


def test_energy_is_the_mean_power_of_all_nodes_over_what_was_answered():
    samples = [Sample(f"spark{1 + at % 2}", at, power_w=40.0 + at % 2 * 20.0) for at in range(6)]
    one = record(samples=(*samples, Sample("spark1", 7.0, power_w=0.0)), seconds=60.0, lock=LOCK_OF_TWO)
    answered = sum(one.suite.runs * point.concurrency * point.answer for point in one.suite.points)
    assert one.energy is not None
    assert one.energy["joules_per_token"] == pytest.approx(100.0 * 60.0 / answered)
    assert one.energy["joules_per_request"] == pytest.approx(one.energy["joules_per_token"] * 16)
    assert "CPU" in one.energy["left_out"]
    assert replace(one, problems=("p",)).energy is None
    assert replace(one, samples=tuple(samples[::2])).energy is None
    assert replace(one, lock=None).energy is None


LOCK_OF_TWO = {"nodes": {"spark1": {}, "spark2": {}}}


@pytest.mark.parametrize("broken", [None, [], {}, {"kind": "sparkops-bench", "schema": 99}])
def test_what_is_no_record_is_said_in_one_line(broken):
    with pytest.raises(NotARecord):
        load(broken)
    damaged = copy.deepcopy(record().document())
    del damaged["suite"]
    with pytest.raises(NotARecord, match="is damaged"):
        load(damaged)


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


def rows(values, spread=0.1):
    """Rows of these means by concurrency; three runs each, one of them `spread` above and one below the mean."""
    names = ("decode", "prefill", "ttft", "decode-per-request", "peak")
    made = [(count, (mean - spread, mean, mean + spread)) for count, mean in values]
    return [
        Row(Point(1024, 128, 0, count), {name: Metric(runs[1], spread, runs, runs) for name in names})
        for count, runs in made
    ]


CLUSTER = [(1, 69.0), (16, 342.1), (32, 471.7), (64, 471.8)]
SOLOS = [(1, 57.7), (16, 268.6), (32, 382.1), (64, 567.9)]
"""The published topology comparison."""


def test_the_crossover_is_marked_where_one_line_overtakes_the_other():
    """Two solo servers overtake the cluster between 32 and 64."""
    made = {chart.id: chart for chart in charts({"cluster": rows(CLUSTER), "2x-solo": rows(SOLOS)})}
    assert set(made) == {"throughput", "prefill", "ttft", "per-request", "peak"}
    crossing = made["throughput"].crossings
    assert [(one.leader, one.before, one.after) for one in crossing] == [("2x-solo", 32, 64)]
    assert made["prefill"].crossings == ()


def test_a_crossover_within_the_noise_is_none_and_one_beyond_it_skips_what_is_undecided():
    noisy = {"cluster": rows(CLUSTER, 90.0), "2x-solo": rows(SOLOS, 90.0)}
    assert next(charts(noisy)).crossings == ()
    undecided = {"a": rows([(1, 60.0), (2, 80.0), (4, 90.0)]), "b": rows([(1, 50.0), (2, 80.1), (4, 99.0)])}
    (crossing,) = next(charts(undecided)).crossings
    assert (crossing.leader, crossing.before, crossing.after) == ("b", 1, 4)


def test_what_has_one_point_is_no_line_and_a_chart_without_lines_is_none():
    made = list(charts({"a": rows([(1, 3.0)]), "b": rows([(1, 2.0), (2, 6.0)])}))
    assert {tuple(line.label for line in chart.lines) for chart in made} == {("b",)}
    assert list(charts({"a": rows([(1, 3.0)]), "c": []})) == []
    assert power({"spark1": [(0.0, 20.0)]}) is None
    assert power({"spark1": [(0.0, 20.0), (10.0, 60.0)], "spark2": [(0.0, 1.0)]}).lines == (
        ChartLine("spark1", (0.0, 10.0), (20.0, 60.0)),
    )


def test_no_label_of_an_axis_touches_its_neighbour():
    counts = (1.0, 2.0, 4.0, 5.0, 8.0, 10.0, 16.0, 32.0, 64.0, 128.0, 256.0)
    assert Chart("", "", "", "", (ChartLine("a", counts, counts),)).ticks == (1, 2, 4, 8, 16, 32, 64, 128, 256)
    near = (1.0, 2.0, 5.0, 10.0)
    assert Chart("", "", "", "", (ChartLine("a", near, near),)).ticks == near


def test_equal_labels_are_told_apart():
    twice = series("t", [record(), record(id="20261120T130000Z-two-def456"), record("cluster")])
    assert list(twice.records) == ["solo abc123", "solo def456", "cluster"]
    assert list(series("t", [record(lab=True), record("cluster")]).records) == ["solo (lab)", "cluster"]


def told(*entries):
    """The problems of a result with these entries, which never becomes a number."""
    found = read([document(*entries)], TWO)
    assert all(row.metrics["decode"].mean > 0 for row in found.rows)
    return iter(found.problems)


def apart(other, *vary, flags=()):
    """What keeps a run from standing beside the usual one."""
    return iter([f"{one.label}: {one.text}" for one in gaps(record(), other, frozenset(vary), flags)])


CALLED = (
    *(apart, cure, entry, iter, lock, metric, next, read, record, replace, told, watched, wedged),
    *(document, beside_published, load, Point, Progress, Sample),
)
NAMES = {one.__name__: one for one in CALLED} | {"TWO": TWO, "Published": Published}


def called(line: str) -> str:
    found = eval(line, dict(NAMES))  # noqa: S307 - a call in a file of ours
    return "\n".join(map(str, found)) if isinstance(found, Iterator) else str(found)


def test_each_call_gives_what_its_line_in_the_file_says():
    golden.hold_lines(Path(__file__).with_name("values.txt"), called)


def test_what_an_interrupt_leaves_is_unfinished_and_what_failed_is_failed():
    whole = record()
    assert whole.state == "ok"
    assert replace(whole, raw=()).state == "unfinished"
    assert replace(whole, problems=("x",)).state == "failed"
