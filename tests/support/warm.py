"""Run the tool in a process forked from one that has its modules loaded, which saves half a second of imports.

For tests that call it hundreds of times. Tests of signals and open pipes start the whole program instead.
"""

import multiprocessing
import os
import pkgutil
import runpy
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from multiprocessing.context import ForkServerContext
from pathlib import Path

import sparkops

OTHERS = ("runpy", "structlog", "fabric", "sparklab.api")


@dataclass(frozen=True)
class Ended:
    """The exit code, or minus the number of a signal, and all that was printed."""

    code: int
    out: str
    err: str


def run(words: Sequence[str], *, env: Mapping[str, str], cwd: Path, seconds: float) -> Ended:
    """`sparkops WORDS…` with nothing else in its environment; raises TimeoutExpired, and has ended it then."""
    with tempfile.NamedTemporaryFile() as out, tempfile.NamedTemporaryFile() as err:
        process = _server().Process(target=_child, args=(list(words), dict(env), str(cwd), out.name, err.name))
        process.start()
        process.join(seconds)
        if process.exitcode is None:
            process.kill()
            process.join()
            raise subprocess.TimeoutExpired(list(words), seconds, out.read(), err.read())
        return Ended(process.exitcode, out.read().decode(), err.read().decode())


@cache
def _server() -> ForkServerContext:
    context = multiprocessing.get_context("forkserver")
    ours = [one.name for one in pkgutil.walk_packages(sparkops.__path__, "sparkops.")]
    context.set_forkserver_preload([*OTHERS, *(name for name in ours if name != "sparkops.__main__")])
    return context


def _child(words: list[str], env: dict[str, str], cwd: str, out: str, err: str) -> None:
    os.environ.clear()
    os.environ.update(env)
    os.chdir(cwd)
    for number, path, mode in ((0, os.devnull, os.O_RDONLY), (1, out, os.O_WRONLY), (2, err, os.O_WRONLY)):
        os.dup2(os.open(path, mode | os.O_CLOEXEC), number)
    sys.stdin, sys.stdout, sys.stderr = os.fdopen(0), os.fdopen(1, "w"), os.fdopen(2, "w", buffering=1)
    sys.argv[1:] = words
    runpy.run_module("sparkops", run_name="__main__", alter_sys=True)
