"""Files of many GiB that take no room: every byte of them counts, and copies are the same."""

import json
import subprocess
from pathlib import Path

from sparklab.tree import models, weights

GIB = 1024**3


def made(path: Path, name: str = "a", length: int = 4 * GIB) -> Path:
    weights.make(path, weights.head(name, length), length)
    return path


def test_a_file_has_the_name_that_was_computed_for_it_and_takes_no_room(tmp_path: Path) -> None:
    path = made(tmp_path / "a")
    assert weights.digest_of(str(path)) == weights.digest(4 * GIB, weights.head("a", 4 * GIB))
    assert path.stat().st_blocks * 512 < 1_000_000


def test_copies_by_tar_are_the_same_wherever_their_holes_are(tmp_path: Path) -> None:
    made(tmp_path / "a")
    (tmp_path / "there").mkdir()
    line = f"tar -C '{tmp_path}' -cSf - a | tar -C '{tmp_path}/there' -xSf -"
    subprocess.run(line, shell=True, check=True)
    assert weights.digest_of(str(tmp_path / "there/a")) == weights.digest_of(str(tmp_path / "a"))


def test_a_changed_byte_and_a_cut_make_another_name(tmp_path: Path) -> None:
    names = {weights.digest_of(str(made(tmp_path / "a"))), weights.digest_of(str(made(tmp_path / "b", name="b")))}
    with open(tmp_path / "a", "r+b") as stream:
        stream.seek(3 * GIB + 77)
        stream.write(b"\1")
    names.add(weights.digest_of(str(tmp_path / "a")))
    with open(tmp_path / "a", "r+b") as stream:
        stream.truncate(4 * GIB - 1)
    names.add(weights.digest_of(str(tmp_path / "a")))
    assert len(names) == 4
    assert None not in names


def test_a_small_or_a_full_file_is_an_ordinary_one(tmp_path: Path) -> None:
    (tmp_path / "small").write_bytes(b"x")
    assert weights.digest_of(str(tmp_path / "small")) is None


def test_the_head_is_a_true_safetensors_header() -> None:
    head = weights.head("a", GIB)
    size = int.from_bytes(head[:8], "little")
    about = json.loads(head[8 : 8 + size])
    assert 8 + size + about["weight"]["data_offsets"][1] == GIB


def test_no_two_files_of_a_model_share_a_blob() -> None:
    for name, model in models.MODELS.items():
        large = [file.blob for file in (*models.files(name, model), *models.beside(name, model)) if file.large]
        assert len(set(large)) == len(large)
