"""The report as people see it: opened in a browser, with its numbers and its lines where they belong."""

import re
import shutil
import subprocess
from dataclasses import replace
from xml.etree import ElementTree

import pytest

pytest.importorskip("matplotlib", reason="the extra `bench` is not installed")

from matplotlib import image  # noqa: E402
from matplotlib.colors import to_rgb  # noqa: E402

from sparkops.core.bench.record import Record, series  # noqa: E402
from sparkops.core.bench.samples import Sample  # noqa: E402
from sparkops.core.bench.suites import Suite  # noqa: E402
from sparkops.verbs.bench.page import drawn, page  # noqa: E402
from sparkops.verbs.bench.svg import COLOURS, svg  # noqa: E402

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
COUNTS = (1, 2, 4, 8, 16, 32, 64)
PUBLISHED = {
    "cluster": (69.0, 104.1, 155.3, 231.0, 342.1, 471.7, 471.8),
    "2x-solo": (57.7, 99.4, 127.9, 177.5, 268.6, 382.1, 567.9),
}
"""The published topology comparison."""

SWEEP = Suite("sweep", "a sweep", "", (1024,), (128,), COUNTS, runs=1)


def document(count, rate):
    def metric(value):
        return {"mean": value, "std": value / 50, "values": [value]}

    each = {name: metric(rate / count) for name in ("pp_req_throughput", "tg_req_throughput", "peak_req_throughput")}
    whole = {"pp_throughput": metric(30 * rate), "tg_throughput": metric(rate), "peak_throughput": metric(1.4 * rate)}
    times = {name: metric(100.0 * count) for name in ("ttfr", "est_ppt", "e2e_ttft")}
    sizes = {"concurrency": count, "context_size": 0, "prompt_size": 1024, "response_size": 128}
    return {"version": "0.4.0", "benchmarks": [{**sizes, **each, **whole, **times}]}


@pytest.fixture
def shown():
    records = []
    for label, rates in PUBLISHED.items():
        raw = tuple(document(count, rate) for count, rate in zip(COUNTS, rates, strict=True))
        watched = tuple(Sample("spark<1>", at, 2400.0, 40.0 + at, 50.0, 1000) for at in (0.0, 10.0, 20.0))
        named = (f"run-{label}", "2026-11-20T12:00:00Z")
        versions = {"llama-benchy": "0.4.0"}
        records.append(Record(*named, SWEEP, label, "http://x/v1", "m & <m>", versions, raw, samples=watched))
    return series("Topologies of m & <m>", records)


def test_the_page_needs_nothing_else_and_shows_every_number(shown):
    text = page(shown)
    assert not re.findall(r"""(?:src|href)=["'](?!#)""", text)
    assert "<script" not in text
    assert "m &amp; &lt;m&gt;" in text
    assert "spark<1>" not in text
    for rates in PUBLISHED.values():
        for rate in rates:
            assert f">{rate:.1f}" in text
    assert text == page(shown)


def test_every_chart_is_an_svg_with_its_title_and_the_crossover_is_named(shown):
    made = {chart.id: svg(chart) for chart in drawn(shown)}
    assert set(made) == {"throughput", "prefill", "ttft", "per-request", "peak", "power"}
    for name, drawing in made.items():
        texts = " ".join(ElementTree.fromstring(drawing).itertext())
        assert ("cluster" in texts) is True, name
    assert "2x-solo overtakes" in " ".join(ElementTree.fromstring(made["throughput"]).itertext())


def test_a_run_with_a_problem_shows_the_problem_and_no_number(shown):
    label, broken = next(iter(shown.records.items()))
    failed = {**shown.records, label: replace(broken, problems=("a server died",))}
    text = page(replace(shown, records=failed))
    assert "cluster: no valid result: a server died" in text
    assert ">471.7" not in text
    assert ">567.9" in text


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium here; .ci/run installs one")
def test_a_browser_shows_tables_and_coloured_lines(shown, tmp_path):
    place, picture = tmp_path / "a report.html", tmp_path / "seen.png"
    place.write_text(page(shown), encoding="utf-8")
    quiet = [
        "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars",
        "--disable-background-networking", "--disable-component-update", "--disable-sync",
        f"--user-data-dir={tmp_path / 'profile'}",
    ]  # fmt: skip
    run = [str(CHROMIUM), *quiet, "--window-size=1000,3200", f"--screenshot={picture}", place.as_uri()]
    subprocess.run(run, check=True, capture_output=True, timeout=120)
    seen = image.imread(picture)[..., :3]
    for colour in COLOURS[: len(PUBLISHED)]:
        close = abs(seen - to_rgb(colour)).max(axis=-1) < 0.02
        rows = close.any(axis=1).nonzero()[0]
        assert close.sum() > 500, colour
        assert rows.max() - rows.min() > 1000, "the line is in more than one chart"
    dump = subprocess.run(
        [str(CHROMIUM), *quiet, "--dump-dom", place.as_uri()], check=True, capture_output=True, text=True, timeout=120
    ).stdout
    assert dump.count("<svg") == 6
    assert "567.9" in dump
