"""The report as people see it: opened in a browser, with its numbers and its lines where they belong."""

import json
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
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
from support import golden  # noqa: E402

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
COUNTS = (1, 2, 4, 8, 16, 32, 64)
PUBLISHED = {
    "cluster": (69.0, 104.1, 155.3, 231.0, 342.1, 471.7, 471.8),
    "2x-solo": (57.7, 99.4, 127.9, 177.5, 268.6, 382.1, 567.9),
}
"""The published topology comparison."""

SWEEP = Suite("sweep", "a sweep", "", (1024,), (128,), COUNTS, runs=3)


def document(count, rate, noise=0.01):
    """Three runs, each request of a run with the values of that run; `noise` is the share between neighbours."""

    def metric(value, requests=1):
        values = [value * (1 + noise * step) for step in (-1, 0, 1) for _ in range(requests)]
        return {"mean": value, "std": value * noise, "values": values}

    each = {"tg_req_throughput": metric(rate / count, count)}
    whole = {"pp_throughput": metric(30 * rate), "tg_throughput": metric(rate), "peak_throughput": metric(1.4 * rate)}
    times = {name: metric(100.0 * count, count) for name in ("ttfr", "e2e_ttft")}
    sizes = {"concurrency": count, "context_size": 0, "prompt_size": 1024, "response_size": 128}
    return {"version": "0.4.0", "benchmarks": [{**sizes, **each, **whole, **times}]}


LOCK = {
    "deployment": "gpt", "hash": "0123456789abcdef", "sparkops": "1.0",
    "revision": {
        "recipe": "gpt", "model_revision": "053db75", "executor": None, "env": {"A": "<b>"},
        "image": {"reference": "vllm-node", "fingerprint": "b9cc07df6196252c"},
        "args": {"enforce-eager": True, "max-model-len": 4096},
    },
    "nodes": {"spark<1>": {"role": "server", "driver": "580.95", "kernel": "6.11"}},
}  # fmt: skip


def made(label, rates, **changed):
    raw = tuple(document(count, rate) for count, rate in zip(COUNTS, rates, strict=True))
    watched = tuple(Sample("spark<1>", at, None, 40.0 + at, 50.0, 1000) for at in (0.0, 10.0, 20.0))
    lock = {**LOCK, "revision": {**LOCK["revision"], "topology": label}}
    versions = {"llama-benchy": "0.4.0", "text": "sparkops-1"}
    named = (f"run-{label}", "2026-11-20T12:00:00Z", SWEEP, label, "http://x/v1", "m & <m>", versions, raw, lock)
    return replace(Record(*named, samples=watched), **changed)


@pytest.fixture
def shown():
    return series("Topologies of m & <m>", [made(*one) for one in PUBLISHED.items()])


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
    drawings = {chart.id: svg(chart) for chart in drawn(shown)}
    assert set(drawings) == {"throughput", "prefill", "ttft", "per-request", "peak", "power"}
    for name, drawing in drawings.items():
        texts = " ".join(ElementTree.fromstring(drawing).itertext())
        assert ("cluster" in texts) is True, name
    assert "2x-solo overtakes" in " ".join(ElementTree.fromstring(drawings["throughput"]).itertext())


def words_of(text):
    """The page's content without its drawings."""
    return re.sub(r"<svg.*?</svg>|<style>.*?</style>", "", text, flags=re.DOTALL)


def test_the_page_says_first_which_is_faster_then_what_was_measured(shown):
    golden.hold(Path(__file__).with_name("report.html"), words_of(page(shown)))


def test_results_within_the_noise_are_never_said_to_be_faster(shown):
    noisy = {
        label: replace(
            record, raw=tuple(document(*point, noise=0.5) for point in zip(COUNTS, PUBLISHED[label], strict=True))
        )
        for label, record in shown.records.items()
    }
    text = page(replace(shown, records=noisy))
    assert "no difference beyond the noise at 1 to 64 requests at once" in text
    assert not re.findall("faster|fastest|overtakes", text)


def test_a_run_of_the_lab_is_marked_in_a_banner_and_at_each_number():
    text = words_of(page(series("t", [made("solo", PUBLISHED["cluster"], lab=True)])))
    assert "the nodes are emulated" in text.partition("<h2>")[0]
    assert "1 emulated node: " in text
    assert "<h3>solo (lab)</h3>" in text


def test_every_table_has_heads_and_every_chart_a_text_for_people_who_do_not_see_it(shown):
    text = page(shown)
    assert text.count("<svg ") == text.count('role="img" aria-label="') == 6
    for table in re.findall(r"<table.*?</table>", text, re.DOTALL):
        assert 'scope="col"' in table
        assert 'scope="row"' in table
        columns = {row.count("<td") + row.count("<th") for row in table.split("<tr>")[1:] if "colspan" not in row}
        assert len(columns) == 1, table
    assert "MHz under load" not in text, "no sample has a clock"


def test_a_run_with_a_problem_shows_the_problem_and_no_number(shown):
    label, broken = next(iter(shown.records.items()))
    failed = {**shown.records, label: replace(broken, problems=("a server died",))}
    text = page(replace(shown, records=failed))
    assert "cluster: no valid result: a server died" in text
    assert ">471.7" not in text
    assert ">567.9" in text


def browse(place, profile, *words):
    """What Chromium says of a page."""
    quiet = [
        "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars",
        "--disable-background-networking", "--disable-component-update", "--disable-sync", f"--user-data-dir={profile}",
    ]  # fmt: skip
    run = [str(CHROMIUM), *quiet, *words, place.as_uri()]
    return subprocess.run(run, check=True, capture_output=True, text=True, timeout=120).stdout


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium here; .ci/run installs one")
def test_a_browser_shows_tables_and_coloured_lines(shown, tmp_path):
    place, picture = tmp_path / "a report.html", tmp_path / "seen.png"
    place.write_text(page(shown), encoding="utf-8")
    browse(place, tmp_path / "profile", "--window-size=1000,6000", f"--screenshot={picture}")
    seen = image.imread(picture)[..., :3]
    for colour in COLOURS[: len(PUBLISHED)]:
        close = abs(seen - to_rgb(colour)).max(axis=-1) < 0.02
        rows = close.any(axis=1).nonzero()[0]
        assert close.sum() > 500, colour
        assert rows.max() - rows.min() > 600, "the line is in more than one chart"
    dump = browse(place, tmp_path / "profile", "--dump-dom")
    assert dump.count("<svg") == 6
    assert "567.9" in dump


WIDTHS = """<!doctype html><title></title><iframe style="width: 420px; height: 9000px; border: 0"></iframe><script>
const frame = document.querySelector("iframe")
frame.onload = () => {
  const page = frame.contentDocument.documentElement
  const right = [...page.querySelectorAll("table, svg, p, h1")].map((one) => one.getBoundingClientRect().right)
  document.title = `${page.clientWidth} wide, ${page.scrollWidth} filled, ${Math.ceil(Math.max(...right))} at the right`
}
frame.srcdoc = PAGE
</script>"""


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium here; .ci/run installs one")
def test_the_page_fits_a_telephone(shown, tmp_path):
    """420 pixels: three runs of the lab with long labels, and big numbers."""
    runs = [made(label, [1000 * rate for rate in PUBLISHED["cluster"]], lab=True) for label in ("solo", *PUBLISHED)]
    for number, one in enumerate((shown, series("Topologies of openai/gpt-oss-120b-with-a-long-name", runs))):
        text = json.dumps(page(one)).replace("</", "<\\/")
        place = tmp_path / f"{number}.html"
        place.write_text(WIDTHS.replace("PAGE", text), encoding="utf-8")
        found = browse(place, tmp_path / "profile", "--virtual-time-budget=5000", "--dump-dom")
        title = re.search("<title>(.*?)</title>", found)
        assert title
        wide, filled, right = map(int, re.findall(r"\d+", title[1]))
        assert wide == 420, "a page that did not load has no width"
        assert filled <= wide
        assert right <= wide
