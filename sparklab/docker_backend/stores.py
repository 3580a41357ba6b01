"""The image store of a Docker engine, copied for another one: metadata is copied, layers are hard links."""

import shutil
from pathlib import Path

from sparklab.docker_backend.shell import run, tried

SECONDS = 3600


def copy(source: Path, target: Path) -> None:
    """From one data directory of an engine into another, whose engine does not run; layers too where disks differ."""
    target.mkdir(parents=True)
    run("cp", "-a", str(source / "image"), str(target))
    if not tried("cp", "-al", str(source / "overlay2"), str(target), timeout=SECONDS):
        shutil.rmtree(target / "overlay2", ignore_errors=True)
        run("cp", "-a", str(source / "overlay2"), str(target))
