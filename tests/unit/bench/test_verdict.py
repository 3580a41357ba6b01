"""What may be claimed of two results, and what is noise."""

import random

import pytest

from sparkops.core.bench.compare import side_by_side
from sparkops.core.bench.headline import headline, summary
from sparkops.core.bench.measured import Metric, Row, of, read
from sparkops.core.bench.suites import Point, Suite
from sparkops.core.bench.verdict import critical, judge


def result(*runs: float) -> Metric:
    return of(runs, runs)


CASES = (
    ((100.0, 102.0, 101.0), (120.0, 121.0, 119.0), 1, "higher"),
    ((100.0, 102.0, 101.0), (80.0, 81.0, 79.0), 1, "lower"),
    ((100.0, 102.0, 101.0), (101.0, 100.5, 101.5), 1, "same"),
    # Two runs each: 105 ± 5 and 112 ± 4 overlap, whatever their means say.
    ((100.0, 110.0), (108.0, 116.0), 1, "same"),
    # Two runs each, and no value of one between those of the other: by chance in one of three cases.
    ((100.0, 104.0), (105.0, 109.0), 1, "same"),
    ((100.0, 100.2), (120.0, 120.2), 1, "higher"),
    # The same difference is a weaker claim as one of fourteen.
    ((100.0, 101.0, 102.0), (104.0, 105.0, 106.0), 1, "higher"),
    ((100.0, 101.0, 102.0), (104.0, 105.0, 106.0), 14, "same"),
    ((100.0,), (200.0,), 1, "unknown"),
    ((100.0, 101.0), (200.0,), 1, "unknown"),
    ((), (200.0, 201.0), 1, "unknown"),
    ((100.0, 100.0), (100.0, 100.0), 1, "same"),
    ((100.0, 100.0), (101.0, 101.0), 1, "higher"),
)


def test_each_pair_of_results_gets_the_verdict_that_its_runs_allow() -> None:
    wrong = []
    for first, other, comparisons, word in CASES:
        here = of(first or (100.0,), first)
        found = judge(here, of(other, other), comparisons)
        assert found is not None
        if found.word != word:
            wrong.append((first, other, comparisons, found))
    assert wrong == []


def test_the_interval_is_welchs() -> None:
    """By hand: variances 1 and 4, three runs each: 25 / 8.5 = 2.94 degrees of freedom, with t = 3.22."""
    found = judge(result(99.0, 100.0, 101.0), result(108.0, 110.0, 112.0))
    assert found is not None
    assert found.gain == pytest.approx(10.0)
    assert found.margin == pytest.approx(3.22 * (5 / 3) ** 0.5, abs=0.01)
    assert judge(result(0.0, 0.0), result(1.0, 1.0)) is None


@pytest.mark.parametrize(
    ("freedom", "error", "value"),
    [(1, 0.05, 12.706), (2, 0.05, 4.303), (3, 0.05, 3.182), (4, 0.01, 4.604), (10, 0.05, 2.228), (120, 0.01, 2.617)],
)
def test_the_quantiles_are_those_of_the_printed_tables(freedom: int, error: float, value: float) -> None:
    assert critical(freedom, error) == pytest.approx(value, abs=0.001)


@pytest.mark.parametrize("runs", [2, 3, 5])
def test_a_table_of_results_without_a_difference_has_a_claim_in_at_most_one_of_twenty_cases(runs: int) -> None:
    draw = random.Random(runs)
    counts = (1, 2, 4, 8, 16, 32, 64)
    claims = 0
    for _ in range(400):
        one, other = (table([[draw.gauss(100.0, 3.0) for _ in range(runs)] for _ in counts]) for _ in range(2))
        (decode,) = side_by_side([one, other])
        claims += any(verdict and verdict.differs for _, values in decode.rows for verdict in decode.verdicts(values))
    assert claims <= 20


def table(results: list[list[float]], metric: str = "decode") -> list[Row]:
    """Rows at concurrency 1, 2, 4, … with the values of their runs."""
    return [
        Row(Point(512, 32, 0, 2**number), {metric: of(values, tuple(values))}) for number, values in enumerate(results)
    ]


def spread(*means: float) -> list[list[float]]:
    return [[mean - 0.1, mean, mean + 0.1] for mean in means]


def test_requests_of_one_run_are_one_observation() -> None:
    """Four requests at once in two runs: two values, because the requests of a run share the engine."""
    each = {"mean": 50.0, "std": 10.0, "values": [40.0, 40.0, 40.0, 40.0, 60.0, 60.0, 60.0, 60.0]}
    whole = {"mean": 200.0, "std": 1.0, "values": [199.0, 201.0]}
    rates = {"pp_throughput": whole, "tg_throughput": whole, "peak_throughput": whole}
    sizes = {"concurrency": 4, "context_size": 0, "prompt_size": 512, "response_size": 32}
    entry = {**sizes, **rates, "tg_req_throughput": each, "ttfr": each, "e2e_ttft": each}
    (row,) = read([{"benchmarks": [entry]}], Suite("s", "", "", (512,), (32,), (4,), runs=2)).rows
    assert row.metrics["ttft"].runs == (40.0, 60.0)
    assert row.metrics["decode"].runs == (199.0, 201.0)
    assert [len(row.metrics[name].runs) for name in ("itl", "e2e", "total")] == [2, 2, 2]
    missing = {**entry, "ttfr": {**each, "values": [40.0] * 7}}
    (row,) = read([{"benchmarks": [missing]}], Suite("s", "", "", (512,), (32,), (4,), runs=2)).rows
    assert row.metrics["ttfr"].runs == (), "nobody knows which run the missing value belongs to"


def said(labels: list[str], *runs: list[Row]) -> list[str]:
    return list(headline(list(side_by_side(runs)), labels))


def test_the_headline_names_the_faster_run_where_the_noise_allows() -> None:
    cluster, solos = spread(60.0, 90.0, 150.0, 180.0), spread(50.0, 90.1, 100.0, 220.0)
    assert said(["cluster", "2x-solo"], table(cluster), table(solos)) == [
        "decode: cluster is faster at 1 request (by 20 %); no difference beyond the noise at 2 requests at once "
        "(±0.4 %); cluster is faster at 4 requests at once (by 50 %); 2x-solo is faster at 8 requests at once "
        "(by 22 %)."
    ]
    assert said(["a", "b"], table(spread(60.0, 90.0)), table(spread(50.0, 80.0))) == [
        "decode: a is faster at 1 to 2 requests at once (by 12 to 20 %)."
    ]


def test_the_headline_says_nothing_of_overlapping_results_and_of_single_runs() -> None:
    noisy = table([[100.0, 110.0], [200.0, 220.0]]), table([[108.0, 116.0], [190.0, 205.0]])
    (line,) = said(["a", "b"], *noisy)
    assert line.startswith("decode: no difference beyond the noise at 1 to 2 requests at once (±")
    (line,) = said(["a", "b"], table([[100.0]]), table([[900.0]]))
    assert line == "decode: not judged at 1 request, because that needs two or more runs: measure with --set runs=3."


def test_for_times_the_smaller_value_is_faster_and_of_three_runs_one_is_fastest() -> None:
    lines = said(
        ["a", "b", "c"], *(table(spread(*means), "ttft") for means in ((100.0, 50.0), (80.0, 50.1), (120.0, 90.0)))
    )
    assert lines == [
        "TTFT: b is fastest at 1 request (by 20 %); no difference beyond the noise between a and b at 2 requests "
        "at once (±0.8 %)."
    ]


def test_a_run_without_a_partner_is_summed_up() -> None:
    rows = [
        Row(Point(512, 32, 0, count), {"decode": of([50.0 * count]), "ttft": of([40.0 * count])}) for count in (1, 2, 4)
    ]
    assert list(summary({"solo": rows})) == [
        "solo: 50.0 tokens/s decode and 40 ms TTFT with 1 request; 200.0 tokens/s decode and 160 ms TTFT with "
        "4 requests at once."
    ]
