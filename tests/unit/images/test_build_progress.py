"""How far a build is, read from what `docker build` prints: BuildKit's plain progress, and the old builder's."""

import os
import subprocess
from pathlib import Path

import pytest

from sparkops.remote.frame import script_text
from support import golden

PRINTED = Path(__file__).parent / "printed"


@pytest.mark.parametrize(("builder", "stream"), [("buildkit", 2), ("old-builder", 1)])
def test_every_step_is_told_and_every_line_kept(tmp_path: Path, builder: str, stream: int) -> None:
    said = PRINTED / f"{builder}.txt"
    docker = tmp_path / "bin" / "docker"
    docker.parent.mkdir()
    docker.write_text(
        f'#!/bin/sh\ncase $1 in build) cat "{said}" >&{stream} ;; image) echo \'{{"sparkops.build":"x"}}\' ;; esac\n'
    )
    docker.chmod(0o755)
    state = tmp_path / "state"
    (state / "work" / "job" / "source").mkdir(parents=True)
    words = ("build", str(state), "job", "an-image", "sparkops.build=x", "", "", "docker", "build", ".")
    done = subprocess.run(
        ["sh", "-c", script_text("image"), "image", *words],
        env={"PATH": f"{docker.parent}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=True,
    )
    lines = done.stdout.splitlines()
    assert [line for line in lines if not line.startswith("progress: ")] == said.read_text().splitlines()
    golden.hold(PRINTED / f"{builder}.told.txt", "\n".join(lines))
    assert not (state / "work" / "job").exists()
