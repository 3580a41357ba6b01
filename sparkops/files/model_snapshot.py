"""A model in a directory of this machine: its files themselves, or a cache of Hugging Face."""

import os
from pathlib import Path

from sparkops.core.model_name import ModelName
from sparkops.core.model_snapshot import CONFIG, TEXTS, ModelSnapshot
from sparkops.core.schema import one_line
from sparkops.errors import UsageError
from sparkops.files.own_files import directory

LARGEST = 16_000_000
"""Bytes of a file that is read whole."""

MOST_FILES = 100_000


def snapshot(place: str, name: ModelName) -> ModelSnapshot:
    """The model in a directory; raises UsageError if it is not there or cannot be read."""
    found = directory(place)
    if found is None:
        raise UsageError(one_line(f"--from {place}: no such directory"))
    try:
        home = _home(found, name)
        texts = {text: _text(home / text) for text in TEXTS if (home / text).is_file()}
        commit = home.name if home.parent.name == "snapshots" else ""
        return ModelSnapshot(name.model, str(home), commit, _sizes(home), texts, name.revision)
    except OSError as error:
        raise UsageError(one_line(f"--from {place}: {error.filename}: {error.strerror}")) from None


def _home(found: Path, name: ModelName) -> Path:
    """The folder of the snapshot: the directory itself, or one in it as `hf download` keeps models."""
    if (found / CONFIG).is_file():
        return found
    folder = f"models--{name.model.replace('/', '--')}"
    repos = (found, found / folder, found / "hub" / folder)
    for repo in repos:
        ref = repo / "refs" / (name.revision or "main")
        commit = ref.read_text(encoding="utf-8").strip() if ref.is_file() else name.revision
        if commit and (repo / "snapshots" / commit).is_dir():
            return repo / "snapshots" / commit
    told = f"--from {found}: has no {CONFIG}, and is no cache with {name}"
    raise UsageError(one_line(told), hint="name the directory with the model's files, or a cache of Hugging Face")


def _sizes(home: Path) -> dict[str, int]:
    found: dict[str, int] = {}
    for folder, _, names in os.walk(home):
        for name in names:
            path = Path(folder, name)
            if path.is_file():
                found[path.relative_to(home).as_posix()] = path.stat().st_size
        if len(found) > MOST_FILES:
            raise UsageError(one_line(f"--from {home}: has more than {MOST_FILES} files"))
    return found


def _text(path: Path) -> str:
    if path.stat().st_size > LARGEST:
        raise UsageError(one_line(f"{path}: is larger than {LARGEST // 1_000_000} MB"))
    return path.read_bytes().decode("utf-8", "replace")
