"""The emulated Docker engine of the embedded lab and a real one answer the same table of commands."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sparkops.lab import api
from support import docker_forms as forms


@pytest.fixture
def emulated(tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """`docker` of a node of the embedded lab."""
    pytest.importorskip("asyncssh")
    directory = tmp_path / "embedded lab"
    api.up(1, directory=directory, ray="emulated")
    node = directory / "nodes" / "node1"
    env = {
        "PATH": f"{node / 'bin'}:/usr/bin:/bin",
        "HOME": str(node / "home"),
        "SPARKOPS_ROOT": str(node / "root"),
        "SPARKLAB_NODE": str(node),
        "SPARKLAB_LAB": json.loads((node / "node.json").read_text())["lab"],
    }
    yield lambda words: subprocess.run(
        ["docker", *words], env=env, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    )
    api.down(directory=directory)


@pytest.fixture
def real(lab: Any) -> Callable[..., Any]:
    lab.clear()
    return lambda words: lab.ran_on("node1", "docker", *words, user="spark")


@pytest.mark.parametrize("engine", ["emulated", "real"])
def test_every_docker_command_of_sparkops_comes_back_alike(engine, request):
    docker = request.getfixturevalue(engine)

    def said(words: list[str]) -> Any:
        done = docker(words)
        return forms.Said(done.returncode, done.stdout, done.stderr)

    assert forms.play(said) == []
