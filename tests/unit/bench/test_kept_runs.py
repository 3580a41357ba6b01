"""What is kept of benchmarks and experiments when a disk fills up."""

import contextlib
from dataclasses import replace

import pytest

from sparkops.core.bench.experiment import Before, Experiment, id_of
from sparkops.core.bench.record import Record
from sparkops.core.bench.suites import Suite
from sparkops.errors import UsageError
from sparkops.files import bench_records, experiment_records
from sparkops.verbs.bench.run import answer

resource = pytest.importorskip("resource", reason="limits are Unix's")

FIRST = Record("20261120T120000Z-two-abc123", "2026", Suite("two", "", "", (1,), (1,)), "solo", "u", "m", {}, ({},))


@contextlib.contextmanager
def no_room_beyond(size):
    """As a disk that is full: a file does not grow beyond so many bytes."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path / "sparkops"


def test_a_point_that_finds_no_room_leaves_the_earlier_ones_and_nothing_else(place):
    bench_records.keep(FIRST)
    with no_room_beyond(4096), pytest.raises(UsageError) as error:
        bench_records.keep(replace(FIRST, raw=({}, {"text": "x" * 10_000})))
    assert str(place / "bench") in error.value.message
    assert "XDG_STATE_HOME" in error.value.hint
    assert bench_records.record("last") == FIRST
    assert [path.name for path in (place / "bench").iterdir()] == [f"{FIRST.id}.json"]


def test_runs_since_an_experiment_began_are_its_own_and_what_cannot_be_read_is_none(place):
    for name in ("20261120T110000Z-two-a", "20261120T130000Z-two-b", "20261120T140000Z-two-c"):
        bench_records.keep(replace(FIRST, id=name))
    (place / "bench" / "20261120T150000Z-two-d.json").write_text("{")
    assert [one.id[-1] for one in bench_records.since("20261120T120000Z")] == ["c", "b"]


def test_an_experiment_is_found_by_its_question_until_it_has_ended(place):
    question = {"recipe": "r", "topologies": ("solo", "cluster")}
    one = Experiment(id_of(question), "20261120T120000Z", Before(("h",), ("r h",)))
    experiment_records.keep(one)
    assert experiment_records.find(id_of({"topologies": ["solo", "cluster"], "recipe": "r"})) == one
    assert experiment_records.find(id_of({**question, "recipe": "other"})) is None
    experiment_records.forget(one)
    assert experiment_records.find(one.id) is None
    (place / "experiments" / f"{one.id}.json").write_text('{"id": 1, "began": "x", "owed": {"hashes": 3}}')
    assert experiment_records.find(one.id) is None


@pytest.mark.parametrize(
    ("raw", "lock", "way"),
    [
        ((), {"deployment": "own"}, f"start it again: `sparkops bench run --resume {FIRST.id}`"),
        (({},), None, f"continue: `sparkops bench run --resume {FIRST.id}`"),
        ((), None, "check that a model serves at this address: `curl URL/v1/models`"),
    ],
)
def test_a_run_that_failed_names_the_way_on_where_there_is_one(raw, lock, way):
    found = answer(replace(FIRST, raw=raw, lock=lock, problems=("Cannot connect to host u",)))
    assert found.document["rows"] == []
    assert found.error.hint.endswith(way)
