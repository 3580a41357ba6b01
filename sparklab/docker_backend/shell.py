"""Run other programs; a failure names the program and the reason."""

import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import IO

from sparklab.errors import LabError

TAIL = 8


def run(
    *words: str, env: Mapping[str, str] | None = None, stdin: IO[bytes] | None = None, timeout: float | None = None
) -> str:
    """Standard output of a program that must succeed."""
    try:
        done = subprocess.run(
            words, env=env, stdin=stdin or subprocess.DEVNULL, capture_output=True, timeout=timeout, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise LabError(f"{words[0]}: {error}") from error
    if done.returncode:
        said = (done.stderr or done.stdout).decode(errors="replace").strip().splitlines()[-TAIL:]
        raise LabError(f"`{' '.join(words)[:200]}` failed ({done.returncode}): " + "\n".join(said))
    return done.stdout.decode(errors="replace")


def tried(*words: str, env: Mapping[str, str] | None = None, timeout: float | None = 60) -> bool:
    """Did the program succeed? For things that may already be gone."""
    try:
        run(*words, env=env, timeout=timeout)
    except LabError:
        return False
    return True


def logged(log: Path, *words: str, env: Mapping[str, str] | None = None) -> None:
    """Run a long program with its output in a file; on failure the error quotes the file's last lines."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as stream:
        done = subprocess.run(words, env=env, stdin=subprocess.DEVNULL, stdout=stream, stderr=stream, check=False)
    if done.returncode:
        tail = log.read_text(errors="replace").strip().splitlines()[-TAIL:]
        raise LabError(f"`{' '.join(words)[:200]}` failed ({done.returncode}), all of it in {log}: " + "\n".join(tail))
