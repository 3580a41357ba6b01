"""Prometheus' own tools, where they are installed (Debian's package `prometheus`)."""

import shutil
import subprocess
from pathlib import Path

import pytest


def promtool(*words: object, told: str = "") -> subprocess.CompletedProcess[str]:
    """Run promtool, or skip the test where there is none."""
    if shutil.which("promtool") is None:
        pytest.skip("promtool is not installed")
    return subprocess.run(["promtool", *map(str, words)], input=told, capture_output=True, text=True, check=False)


def written(directory: Path, name: str, text: str) -> Path:
    path = directory / name
    path.write_text(text)
    return path
