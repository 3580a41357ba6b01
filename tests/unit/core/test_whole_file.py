"""A file is written completely or not at all."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sparkops import whole_file
from sparkops.errors import UsageError
from sparkops.files import own_files, state


@contextmanager
def full_disk(limit: int = 10) -> Iterator[None]:
    """No file of this process may grow beyond so many bytes, as on a disk that is nearly full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_leaves_the_old_file_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    path = tmp_path / "inventory.yml"
    path.write_text("old", encoding="utf-8")
    with full_disk():
        with pytest.raises(OSError, match="too large"):
            whole_file.write(path, "x" * 100)
        with pytest.raises(UsageError, match=r"inventory\.yml cannot be written: file too large"):
            own_files.write(path, "x" * 100)
        with pytest.raises(UsageError, match="state/sparkops/bench: file too large"):
            state.write_json("bench", "one", ["x" * 100])
    assert [one.name for one in tmp_path.iterdir() if one.is_file()] == ["inventory.yml"]
    assert path.read_text(encoding="utf-8") == "old"
    assert list((tmp_path / "state/sparkops/bench").iterdir()) == []


def test_a_link_and_a_mode_stay_and_a_device_is_written_to(tmp_path: Path) -> None:
    path, link = tmp_path / "target", tmp_path / "link"
    path.write_text("old", encoding="utf-8")
    path.chmod(0o640)
    link.symlink_to(path)
    whole_file.write(link, "new\n")
    assert (path.read_text(encoding="utf-8"), path.stat().st_mode & 0o777) == ("new\n", 0o640)
    assert link.is_symlink()
    whole_file.write(Path("/dev/null"), "new")
    with pytest.raises(OSError, match="No space left"):
        whole_file.write(Path("/dev/full"), "new")
