"""Records of benchmarks that someone or something damaged: one line about what is wrong, and the others still work."""

import json
from copy import deepcopy
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from sparkops.cli.main import main
from sparkops.core.bench.record import Record
from sparkops.core.bench.samples import Sample
from sparkops.core.bench.suites import Suite
from sparkops.errors import SparkopsError
from sparkops.files import bench_records
from sparkops.report.ending import Ending
from sparkops.report.text import How, Ink
from sparkops.verbs.bench import records, show
from sparkops.verbs.bench.options import CompareOptions, RecordsOptions

SUITE = Suite("two", "", "", (256,), (16,), (1, 2), runs=2)
METRIC = {"mean": 101.0, "std": 1.0, "values": [100.0, 102.0]}
RATES = ("pp_throughput", "tg_throughput", "tg_req_throughput", "peak_throughput", "ttfr", "e2e_ttft")
ENTRIES = [
    {"prompt_size": 256, "response_size": 16, "context_size": 0, "concurrency": count, **dict.fromkeys(RATES, METRIC)}
    for count in (1, 2)
]
REVISION = {"recipe": "r", "model": "m", "topology": "solo", "args": {"max-model-len": 4096}, "env": {}}
NODE = {"role": "server", "image": "i", "model": "v", "models": None, "driver": "580", "kernel": "6.11", "spec": 1}
LOCK = {"deployment": "r", "hash": "h", "sparkops": "0.1", "revision": REVISION, "nodes": {"spark1": NODE}}
GOOD = Record(
    *("20261120T120000Z-two-a", "2026-11-20T12:00:00Z", SUITE, "solo", "http://x/v1", "m", {"vllm": "1"}),
    raw=({"version": "0.4.0", "benchmarks": ENTRIES},),
    lock=LOCK,
    samples=(Sample("spark1", 1.0, 2400.0, 60.0, 50.0, 1000, 90.0), Sample("spark1", 2.0)),
)
BAD = "20261120T130000Z-two-b"
DOCUMENT = json.loads(json.dumps(replace(GOOD, id=BAD).document()))


def places(value, path=()):
    """The path of every node of a JSON tree."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for key, item in items for place in places(item, (*path, key)))]


NESTED = json.loads("[" * 200 + "]" * 200)
OTHER = st.sampled_from(
    [None, True, False, 0, -1, 1e-300, 1e300, 10**400, float("nan"), float("inf"), "", "x", "\ud800", "\x1b[2J", [],
     {}, [None], [[]], {"": None}, [-1], [0], ["x"], {"x": "y"}, NESTED]
)  # fmt: skip


@st.composite
def damaged(draw):
    """A record in which up to three nodes are removed, or replaced by a value of any kind."""
    found = json.loads(json.dumps(DOCUMENT))
    for _ in range(draw(st.integers(1, 3))):
        path = draw(st.sampled_from(places(found)))
        if not path:
            return draw(OTHER)
        inner = found
        for key in path[:-1]:
            inner = inner[key]
        if draw(st.booleans()):
            inner[path[-1]] = deepcopy(draw(OTHER))
        else:
            del inner[path[-1]]
    return found


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    bench_records.keep(GOOD)
    return Path(tmp_path, "sparkops", "bench")


def said(do):
    """What a verb of `bench` says about these runs, as text and as JSON."""
    try:
        answer, lines = do()
    except SparkopsError as error:
        return [error.message]
    json.dumps(answer.document, indent=2, default=str)
    return list(lines(answer.document, Ink(), How()))


def every_verb(output):
    """(verb, its lines) for each verb that reads the damaged run."""
    report = Ending("bench")
    both = (CompareOptions((GOOD.id, BAD)), CompareOptions((BAD, GOOD.id), vary=frozenset(("suite", "model", "flags"))))
    yield from (said(lambda one=one: (records.compare(one, report), show.compared)) for one in both)
    yield said(lambda: (records.compare(CompareOptions((BAD,), reference=True), report), show.compared))
    yield said(lambda: (records.listing(RecordsOptions(), report), show.listing))
    yield said(lambda: (records.show(RecordsOptions((BAD,)), report), show.shown))
    for form in ("md", "csv", "json"):
        options = RecordsOptions((GOOD.id, BAD), format=form, output=str(output))
        yield said(lambda options=options: (records.export(options, report), show.exported))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(document=damaged())
@example(document={**DOCUMENT, "lock": NESTED})
@example(document={**DOCUMENT, "raw": [{"benchmarks": [{**ENTRIES[0], "concurrency": 10**400}]}]})
def test_no_damage_is_more_than_a_line(folder, tmp_path, document):
    (folder / f"{BAD}.json").write_text(json.dumps(document))
    for lines in every_verb(tmp_path / "out"):
        assert lines
    listed = records.listing(RecordsOptions(), Ending("bench list")).document["records"]
    assert [(one["id"], one["state"]) for one in listed][0] == (GOOD.id, "ok")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=10)
@given(document=damaged().filter(lambda found: isinstance(found, dict)))
def test_no_damage_breaks_the_page(folder, tmp_path, document):
    (folder / f"{BAD}.json").write_text(json.dumps(document))
    options = RecordsOptions((GOOD.id, BAD), format="html", output=str(tmp_path / "page.html"))
    assert said(lambda: (records.export(options, Ending("bench export")), show.exported))


BROKEN = {
    "": "is not JSON",
    "\x00\xff": "is not UTF-8 text",
    "[" * 100_000: "is nested too deeply",
    "[]": "is not a sparkops benchmark",
    json.dumps({**DOCUMENT, "schema": 99}): "has schema 99; this sparkops reads up to schema 1",
    json.dumps({**DOCUMENT, "samples": [{**asdict(GOOD.samples[0]), "at": "x"}]}): "samples[0].at: must be a number",
    json.dumps({**DOCUMENT, "lock": {**LOCK, "nodes": {"spark1": {}}}}): "lock.nodes.spark1.role: is missing",
    json.dumps({**DOCUMENT, "suite": {**asdict(SUITE), "prompts": []}}): "suite: must have 1 to 4096 points",
}


@pytest.mark.parametrize("text", BROKEN)
def test_a_damaged_record_is_named_with_its_path_and_what_is_wrong(folder, capsys, text):
    (folder / f"{BAD}.json").write_text(text, encoding="latin-1")
    for words in (("show", BAD), ("compare", GOOD.id, BAD), ("export", BAD)):
        assert main(["bench", *words]) == 2
        error = capsys.readouterr().err
        assert str(folder / f"{BAD}.json") in error
        assert BROKEN[text] in error
    assert main(["bench", "list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].startswith(GOOD.id)
    assert lines[2].startswith(f"unreadable: {folder / BAD}.json: ")


def test_a_folder_or_a_pipe_among_the_records_is_no_record(folder, capsys):
    (folder / f"{BAD}.json").mkdir()
    assert main(["bench", "show", BAD]) == 2
    assert "is not a file" in capsys.readouterr().err
