"""Our node scripts in real shells, with small honest programs on PATH where a node has Docker, Ray or an engine."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from sparkops.remote.frame import script_text

SHELLS = [shell for shell in ("dash", "bash") if shutil.which(shell)]


@dataclass
class NodeShell:
    """Runs one of our scripts as a node would, below its own root and with its own tools first on PATH."""

    shell: str
    home: Path
    root: Path
    tools: Path
    extra: dict[str, str] = field(default_factory=dict)

    @property
    def env(self) -> dict[str, str]:
        paths = {"HOME": str(self.home), "SPARKOPS_ROOT": str(self.root), "PATH": f"{self.tools}:{os.environ['PATH']}"}
        return {**os.environ, **paths, **self.extra}

    def words(self, script: str, *args: str) -> list[str]:
        return [self.shell, "-c", script_text(script), script, *args]

    def run(self, script: str, *args: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.words(script, *args),
            input=stdin,
            env=self.env,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )

    def start(self, script: str, *args: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self.words(script, *args), env=self.env, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )  # fmt: skip

    def tool(self, name: str, text: str) -> None:
        """A program of this node."""
        path = self.tools / name
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)


@pytest.fixture(params=SHELLS)
def node(request: pytest.FixtureRequest, tmp_path: Path) -> NodeShell:
    made = NodeShell(request.param, tmp_path / "a home", tmp_path / "root", tmp_path / "tools")
    for folder in (made.home, made.root / "proc", made.tools):
        folder.mkdir(parents=True)
    return made
