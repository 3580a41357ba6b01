"""A model from one node to the next: what is sent, what counts, and what a stream that breaks leaves."""

import json
from pathlib import Path
from typing import Any

import pytest

from support.models import FIRST, MODEL, SHARDS


@pytest.fixture
def other(home: Any, tmp_path: Path) -> Any:
    """A second node, which has nothing."""
    path = tmp_path / "another"
    path.mkdir()
    return type(home)(path, home.hub)


def manifest(home: Any, other: Any, model: str = MODEL) -> str:
    path = other.path / "manifest.json"
    path.write_text(json.dumps(home.result("has", model)))
    return str(path)


def copy(
    home: Any, other: Any, model: str = MODEL, target: str = MODEL, only: str = "", cut: int | None = None
) -> tuple[int, str]:
    """The stream from one to the other; `cut` bytes of it."""
    sent = home.piped("send", model, "--only", only)
    assert sent.returncode == 0, sent.stderr
    done = other.piped("take", target, str(other.path / "manifest.json"), data=sent.stdout[:cut])
    return done.returncode, done.stdout.decode()


def test_a_copy_is_the_same_snapshot_with_its_name(home: Any, other: Any) -> None:
    home.result("fetch", MODEL)
    wanted = manifest(home, other)
    assert len(other.result("lacks", MODEL, wanted)["missing"]) == 6
    code, out = copy(home, other)
    assert code == 0, out
    assert other.result("verify", MODEL) == home.result("verify", MODEL)
    assert (other.folder / "refs/main").read_text() == FIRST
    assert not Path(wanted).exists()
    assert other.result("lacks", MODEL, manifest(home, other))["missing"] == []
    assert not list(other.folder.glob("incoming*"))


def test_only_what_is_missing_is_sent(home: Any, other: Any) -> None:
    home.result("fetch", MODEL)
    manifest(home, other)
    assert copy(home, other)[0] == 0
    other.blob(SHARDS[1]).write_bytes(b"")
    (other.snapshot() / SHARDS[2]).resolve().unlink()
    missing = other.result("lacks", MODEL, manifest(home, other))["missing"]
    assert sorted(missing) == sorted(home.blob(name).name for name in SHARDS[1:])
    code, out = copy(home, other, only=",".join(name[:12] for name in missing))
    assert (code, json.loads(out.splitlines()[-1].removeprefix("result "))["copied"]) == (0, 600_003)
    assert other.result("verify", MODEL)["problems"] == []


def test_a_stream_that_ends_early_leaves_whole_files_only_and_the_rest_is_enough(home: Any, other: Any) -> None:
    home.result("fetch", MODEL)
    wanted = manifest(home, other)
    code, out = copy(home, other, cut=500_000)
    assert code == 1
    assert "did not arrive" in out
    assert not other.snapshot().exists()
    assert not list(other.folder.glob("incoming*"))
    missing = other.result("lacks", MODEL, wanted)["missing"]
    assert 0 < len(missing) < 6
    assert copy(home, other, only=",".join(missing))[0] == 0
    assert other.result("verify", MODEL)["problems"] == []


def test_a_node_that_has_the_vocabulary_is_sent_the_rest_only(home: Any, other: Any, tmp_path: Path) -> None:
    home.result("fetch", MODEL)
    manifest(home, other)
    (blob,) = other.result("lacks", MODEL, manifest(home, other))["missing"][:1]
    sent = home.piped("send", MODEL, "--vocabulary", str(tmp_path / "words"), "--only", blob)
    assert (sent.returncode, sent.stderr) == (0, b"")


def test_a_file_that_was_changed_on_the_way_does_not_count(home: Any, other: Any) -> None:
    home.result("fetch", MODEL)
    manifest(home, other)
    blob = home.blob(SHARDS[0])
    blob.write_bytes(b"\xff" * blob.stat().st_size)
    code, out = copy(home, other)
    assert code == 1
    assert "1 files" in out
    assert not (other.folder / "blobs" / blob.name).exists()


def test_what_came_before_a_kill_is_looked_through_by_the_next_run(home: Any, other: Any) -> None:
    home.result("fetch", MODEL)
    wanted = manifest(home, other)
    incoming = other.folder / "incoming.sparkops/blobs"
    incoming.mkdir(parents=True)
    whole, part = home.blob(SHARDS[0]), home.blob(SHARDS[1])
    (incoming / whole.name).write_bytes(whole.read_bytes())
    (incoming / part.name).write_bytes(part.read_bytes()[:1000])
    missing = other.result("lacks", MODEL, wanted)["missing"]
    assert whole.name not in missing
    assert part.name in missing
    assert not incoming.exists()


def test_a_directory_is_copied_as_it_is_and_compared_by_its_content(home: Any, other: Any, tmp_path: Path) -> None:
    source, target = tmp_path / "my tune", tmp_path / "my tune there"
    (source / "sub").mkdir(parents=True)
    for name, content in {"config.json": b"{}", "a.bin": b"weights", "sub/b.bin": b"weights"}.items():
        (source / name).write_bytes(content)
    wanted = manifest(home, other, str(source))
    assert len(other.result("lacks", str(target), wanted)["missing"]) == 2
    code, out = copy(home, other, str(source), str(target))
    assert code == 0, out
    assert {str(path.relative_to(target)) for path in target.rglob("*") if path.is_file()} - {".sparkops.json"} == {
        "config.json", "a.bin", "sub/b.bin"
    }  # fmt: skip
    assert other.result("verify", str(target))["revision"] == home.result("verify", str(source))["revision"]
    (target / "a.bin").write_bytes(b"wrong")
    assert other.result("verify", str(target))["revision"] != home.result("verify", str(source))["revision"]


def test_a_directory_s_weights_must_be_as_long_as_they_say(home: Any, tmp_path: Path) -> None:
    source = tmp_path / "tune"
    source.mkdir()
    (source / "config.json").write_text("{}")
    head = json.dumps({"w": {"dtype": "U8", "shape": [4], "data_offsets": [0, 4]}}).encode()
    whole = len(head).to_bytes(8, "little") + head + b"abcd"
    for content, problem in ((whole, None), (whole[:-1], "truncated"), (b"", "empty"), (b"x" * 99, "corrupt")):
        (source / "model.safetensors").write_bytes(content)
        found = home.result("verify", str(source))["problems"]
        assert [one["problem"].partition(":")[0] for one in found] == ([problem] if problem else [])
