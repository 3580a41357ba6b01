"""Whole command lines, run in this process or in one of their own."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from sparkops.cli.main import main
from support.person import Ran


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No test reads or writes the home, the lab or the inventory of whoever runs it."""
    for name in ("HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    monkeypatch.setenv("SPARKOPS_LAB_DIR", str(tmp_path / "lab"))
    for name in ("SPARKOPS_INVENTORY", "SPARKOPS_API_KEY", "SPARKOPS_BECOME_PASSWORD", "SPARKOPS_PASSWORD"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def sparkops(capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """`sparkops("plan", "--json")` in this process."""

    def run(*words: str) -> Ran:
        code = main(words)
        told = capsys.readouterr()
        return Ran(code, told.out, told.err)

    return run


@pytest.fixture
def python() -> Callable[..., Ran]:
    """A fresh interpreter that sees the package under test."""

    def run(code: str, *words: str) -> Ran:
        import sparkops as package  # noqa: PLC0415  (the one under test: a checkout's or an installed wheel's)

        place = str(Path(next(iter(package.__path__))).parent)
        path = os.pathsep.join(filter(None, (place, os.environ.get("PYTHONPATH"))))
        done = subprocess.run(
            [sys.executable, "-c", code, *words],
            env={**os.environ, "PYTHONPATH": path},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    return run
