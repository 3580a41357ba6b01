"""Mods of other launchers' recipes: into which image they are built, and from where."""

import base64
import gzip
import io
import tarfile
import zipfile
from pathlib import Path

import pytest

from sparkops.core import images, mods
from sparkops.errors import Refused, UsageError
from sparkops.files import mods as load_mods
from sparkops.files.build_context import Context

COMMIT = "0123456789abcdef0123456789abcdef01234567"
SOURCE = f"https://github.com/owner/repo.git@{COMMIT}:mods/fix-b"


def files(context: Context) -> dict[str, str]:
    with tarfile.open(fileobj=io.BytesIO(gzip.decompress(base64.b64decode(context.content)))) as tar:
        return {one.name: found.read().decode() for one in tar if (found := tar.extractfile(one)) is not None}


@pytest.fixture
def here(tmp_path: Path) -> Path:
    place = tmp_path / "a checkout" / "mods" / "fix-a"
    place.mkdir(parents=True)
    (place / "run.sh").write_text("#!/bin/sh\necho a\n")
    (place / ".hidden").write_text("kept")
    return tmp_path / "a checkout"


@pytest.mark.parametrize(
    ("container", "wanted", "expected"),
    [
        ("vllm-node", ("mods/fix-a",), "sparkops-mods/vllm-node:latest-with-fix-a-"),
        ("vllm-node:b1", ("@reg/mods/fix-a", "/x/fix-b/"), "sparkops-mods/vllm-node:b1-with-fix-a-fix-b-"),
        ("host:5000/V/llm@sha256:" + "a" * 64, ("x.zip",), "sparkops-mods/host-5000/v/llm:aaaaaaaaaaaa-with-x-"),
        ("vllm-node", ("mods/drop-caches", "mods/x y"), "sparkops-mods/vllm-node:latest-with-x-y-"),
    ],
)
def test_the_name_of_an_image_says_which_mods_it_has(container: str, wanted: tuple[str, ...], expected: str) -> None:
    name = mods.derived(container, wanted)
    assert name.startswith(expected)
    assert len(name.rpartition(":")[2]) <= 128
    assert mods.derived(container, wanted) == name
    assert mods.derived(f"{container}x", wanted) != name


def test_without_mods_that_are_needed_it_is_the_image_itself() -> None:
    assert mods.derived("vllm-node", ()) == "vllm-node"
    assert mods.derived("vllm-node", ("mods/drop-caches",)) == "vllm-node"


def test_an_image_with_mods_is_still_known_for_what_it_is() -> None:
    for container in ("vllm-node", "vllm-node-mxfp4", "ghcr.io/spark-arena/dgx-vllm-eugr-nightly:latest"):
        assert images.known(mods.derived(container, ("mods/x",))) == images.known(container)


def test_mods_of_a_directory_are_copied_and_run_in_order(here: Path) -> None:
    found = files(load_mods.context(str(here), "vllm-node", ("mods/fix-a", "mods/fix-b"), {"mods/fix-b": SOURCE}))
    assert set(found) == {"Dockerfile", "mods/fix-a/run.sh", "mods/fix-a/.hidden"}
    lines = found["Dockerfile"].splitlines()
    assert lines[0] == "FROM vllm-node"
    assert lines[1] == 'COPY ["mods/fix-a/", "/workspace/mods/fix-a/"]'
    assert lines[3] == f'ADD ["https://github.com/owner/repo.git#{COMMIT}:mods/fix-b", "/workspace/mods/fix-b/"]'
    assert [line.split("&&")[1].strip() for line in lines if line.startswith("RUN")] == [
        'cd "/workspace/mods/fix-a"',
        'cd "/workspace/mods/fix-b"',
    ]


def test_a_mod_may_be_a_zip_or_the_directory_itself(here: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "fix-z.zip", "w") as packed:
        packed.writestr("run.sh", "echo z\n")
    assert "mods/fix-z/run.sh" in files(load_mods.context(str(tmp_path), "c", ("mods/fix-z",), {}))
    assert "mods/fix-a/run.sh" in files(load_mods.context(str(here / "mods" / "fix-a"), "c", ("mods/fix-a",), {}))


def test_what_is_not_there_is_named(here: Path) -> None:
    with pytest.raises(Refused, match="these mods do not exist: fix-b; looked for mods/fix-b and fix-b in"):
        load_mods.context(str(here), "c", ("mods/fix-a", "mods/fix-b"), {})
    with pytest.raises(Refused, match="these mods do not exist: fix-a"):
        load_mods.context("pinned", "c", ("mods/fix-a",), {})
    with pytest.raises(UsageError, match="no such directory"):
        load_mods.context(str(here / "gone"), "c", ("mods/fix-a",), {})


@pytest.mark.parametrize("mod", ["../../etc", "mods/..", 'x"; rm -rf /', "$(x)", "a b", "mods/../../x", ""])
def test_a_name_that_leads_elsewhere_is_refused(here: Path, mod: str) -> None:
    with pytest.raises(UsageError, match="is not a mod name"):
        load_mods.context(str(here), "c", (mod,), {mod: SOURCE})


@pytest.mark.parametrize("text", ["../mods/x", "https://x/y.git@main:z", f"file:///etc@{COMMIT}", "https://x/y.git"])
def test_only_a_whole_commit_pins_a_source(text: str) -> None:
    assert mods.source(text) is None
