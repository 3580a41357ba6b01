"""A disk that is full, or fills up in the middle: said with numbers, given back, and enough for the next run."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.models import MODEL, small_disk


@pytest.fixture
def small(hub: Any, tmp_path: Path) -> Iterator[Any]:
    """Room for two of three shards and no more."""
    with small_disk(hub, tmp_path / "a small disk", "800k") as made:
        yield made


def grow(node: Any) -> None:
    subprocess.run(["mount", "-o", "remount,size=8m", node.path], check=True)


def halves(node: Any) -> list[Path]:
    return [*node.folder.glob("blobs/*.incomplete"), *node.folder.glob("incoming*")]


def test_what_does_not_fit_is_not_begun(small: Any) -> None:
    told = small.error("fetch", MODEL)
    assert "the disk is too full for acme/tiny: need 879 KiB, have " in told
    assert "next: `sparkops model prune`" in told
    assert halves(small) == []


def test_a_copy_keeps_what_came_whole_and_the_rest_is_enough(home: Any, small: Any, tmp_path: Path) -> None:
    home.result("fetch", MODEL)
    wanted = tmp_path / "manifest.json"
    wanted.write_text(json.dumps(home.result("has", MODEL)))
    code, out = copied(home, small, wanted)
    assert code == 1
    assert "error: the disk became full during the copy, and partial files were removed: need " in out
    assert halves(small) == []
    assert not small.snapshot().exists()
    missing = small.result("lacks", MODEL, str(wanted))["missing"]
    assert 0 < len(missing) < 6
    grow(small)
    assert copied(home, small, wanted, "--only", ",".join(missing))[0] == 0
    assert small.result("verify", MODEL)["problems"] == []


def copied(home: Any, small: Any, manifest: Path, *words: str) -> tuple[int, str]:
    done = small.piped("take", MODEL, str(manifest), data=home.piped("send", MODEL, *words).stdout)
    return done.returncode, done.stdout.decode()
