"""`sparkops --version`: enough for a report of a bug."""

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import sparkops as package
from sparkops.files.package import commit

CHECKOUT = Path(next(iter(package.__path__))).parent


def test_it_names_version_and_commit(sparkops: Callable[..., Any]) -> None:
    ran = sparkops("--version")
    assert re.fullmatch(rf"sparkops, version {re.escape(package.__version__)}( \([0-9a-f]{{12}}\))?\n", ran.out)
    assert ran.code == 0


def test_the_commit_is_that_of_the_checkout() -> None:
    if not (CHECKOUT / ".git").is_dir() or shutil.which("git") is None:
        pytest.skip("not in a checkout")
    asked = subprocess.run(["git", "-C", CHECKOUT, "rev-parse", "HEAD"], check=False, capture_output=True, text=True)
    assert asked.stdout[:12] == (commit() or "")
