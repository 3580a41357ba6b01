"""Which tests reach what, and what tests say of a changed tree: each time in a fork that has imported nothing of it."""

import multiprocessing
import os
import resource
import signal
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import accumulate
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import hypothesis
import mutmut.configuration
import pytest

TREE = Path("mutants")
MINUTE, MEMORY = 60, 4 << 30
LONGEST = 120
"""Seconds of tests, as measured while it is noted what they reach: what they do not see has survived."""
LATER = 0.2
"""Seconds that a test counts as longer if it does not reach the lines itself."""

WORDS = (
    "-q",
    "-x",
    "-o",
    "addopts=--import-mode=importlib",
    "-p",
    "no:cacheprovider",
    "--tb=short",
    "-W",
    "ignore::pytest.PytestAssertRewriteWarning",
)
ALL = ""
"""Reached while the package is imported: in no test, and for all."""

for heavy in ("click", "fabric", "jinja2", "paramiko", "rich.console", "structlog", "tenacity", "yaml"):
    __import__(heavy)  # once, not for every mutant


class Reach:
    """Notes for each test, and for the collection of each file, which functions of the package it runs."""

    def __init__(self) -> None:
        self.package = str(Path.cwd() / "sparkops") + os.sep
        self.seen: dict[str, set[tuple[str, int]]] = defaultdict(set)
        self.tests: dict[str, float] = {}
        self.place = ALL
        self.codes: dict[str, dict[int, CodeType]] = defaultdict(dict)
        threading.setprofile(self.saw)

    def saw(self, frame: FrameType | None, event: str, _: object) -> None:
        if event != "call" or not frame or id(frame.f_code) in self.codes[self.place]:
            return
        code = frame.f_code
        self.codes[self.place][id(code)] = code  # kept, so that no other gets its id
        if code.co_filename.startswith(self.package):
            at = (code.co_filename[len(self.package) - len("sparkops/") :], code.co_firstlineno)
            self.seen[self.place].add(at)
            while frame := frame.f_back:
                if frame.f_code.co_name == "<module>" and frame.f_code.co_filename.startswith(self.package):
                    self.seen[ALL].add(at)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> Iterator[None]:
        self._watch(collector.nodeid if isinstance(collector, pytest.Module) else ALL)
        yield
        self._watch(ALL)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        if _file(item.nodeid) != _file(next(reversed(self.tests), "")):
            _forget()
        began = time.perf_counter()
        self._watch(item.nodeid)
        yield
        self.tests[item.nodeid] = time.perf_counter() - began

    def _watch(self, place: str) -> None:
        """Again each time: Python takes away what raises, as this does in a test that recurses without end."""
        self.place = place
        sys.setprofile(self.saw)


def _forget() -> None:
    """What a file's tests have computed and the package keeps is computed again for the next."""
    for name in [name for name in sys.modules if name.startswith("sparkops")]:
        for value in vars(sys.modules[name]).values():
            if callable(clear := getattr(value, "cache_clear", None)):
                clear()


def _file(test: str) -> str:
    return test.partition("::")[0]


class Reached:
    def __init__(self, found: dict[str, Any]) -> None:
        self.tests: dict[str, float] = found["tests"]
        self.seen = {place: {(path, line) for path, line in rows} for place, rows in found["seen"].items()}

    def of(self, path: str, first: int, last: int) -> list[str]:
        """All tests of the files that reach these lines, the quickest first; those that reach none a little later.

        The rest of a file belongs to it, as what one of its tests computes others may be given.
        """
        lines = {(path, line) for line in range(first, last + 1)}
        places = {place for place, rows in self.seen.items() if rows & lines}
        files = set(map(_file, places))
        tests = [test for test in self.tests if ALL in places or _file(test) in files]
        ordered = sorted(tests, key=lambda test: self.tests[test] + (0 if test in places else LATER))
        spent = accumulate(map(self.tests.__getitem__, ordered), initial=0.0)
        return [test for test, seconds in zip(ordered, spent, strict=False) if seconds < LONGEST]


class Only:
    """Runs these tests in this order and keeps the first failure."""

    def __init__(self, tests: list[str]) -> None:
        self.turn = {test: turn for turn, test in enumerate(tests)}
        self.said = {"verdict": "survived", "by": "", "why": ""}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = sorted((item for item in items if item.nodeid in self.turn), key=lambda item: self.turn[item.nodeid])

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and not self.said["by"]:
            crash = getattr(report.longrepr, "reprcrash", None)
            why = str(crash.message if crash else report.longrepr).partition("\n")[0][:200]
            late = "from pytest-timeout" in why
            self.said = {"verdict": "timeout" if late else "killed", "by": report.nodeid, "why": why}


def reach() -> dict[str, Any]:
    selection = mutmut.configuration.config().pytest_add_cli_args_test_selection

    def measure() -> dict[str, Any]:
        plugin = Reach()
        code = pytest.main([*WORDS, *selection], plugins=[plugin])
        sys.setprofile(None)
        assert code == 0, "the tests fail without any mistake"
        return {"tests": plugin.tests, "seen": {place: sorted(rows) for place, rows in plugin.seen.items()}}

    found = _apart(measure, 3600, tree=TREE, loud=True)
    assert isinstance(found, dict), found
    return found


def judged(tests: list[str], tree: Path, *, loud: bool = False) -> dict[str, str]:
    if not tests:
        return {"verdict": "no tests", "by": "", "why": ""}

    def ask() -> dict[str, str]:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        sys.dont_write_bytecode = True
        plugin = Only(tests)
        code = pytest.main([*WORDS, f"--timeout={MINUTE}", *dict.fromkeys(map(_file, tests))], plugins=[plugin])
        if code and plugin.said["verdict"] == "survived":  # before the first test, or a Ctrl-C that nobody caught
            return {"verdict": "killed", "by": "pytest", "why": f"exit code {int(code)}"}
        return plugin.said

    said = _apart(ask, 30 * MINUTE, tree=tree, loud=loud)
    if isinstance(said, dict):
        return said
    return {"verdict": "timeout" if said is None else "killed", "by": "pytest", "why": f"exit code {said}"}


def write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
    os.utime(path, (1, 1))  # or Python takes it for the module that it has compiled


def _apart(work: Callable[[], Any], seconds: float, *, tree: Path, loud: bool) -> Any:
    """What it gives in a directory of its own; its exit code if it ends without; None if it does not end."""
    fork = multiprocessing.get_context("fork")
    answer, ours = fork.Pipe(duplex=False)

    def inside() -> None:
        os.setsid()
        os.chdir(tree)
        others = [place for place in sys.path if not (Path(place) / "sparkops" / "__init__.py").exists()]
        sys.path[:] = [os.getcwd(), *others]
        sys.dont_write_bytecode = False
        if not loud:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            os.dup2(1, 2)
        phases = (hypothesis.Phase.explicit, hypothesis.Phase.generate)
        hypothesis.settings.register_profile("mutants", derandomize=True, database=None, phases=phases)
        hypothesis.settings.load_profile("mutants")  # those of the tests build upon it
        ours.send(work())

    process = fork.Process(target=inside)
    process.start()
    ours.close()
    ready = answer.poll(seconds)  # also when it has ended
    try:
        return answer.recv() if ready else None
    except EOFError:
        process.join()
        return process.exitcode
    finally:
        if process.is_alive():
            process.join(5)
        with suppress(ProcessLookupError):
            os.killpg(process.pid or 0, signal.SIGKILL)
        process.join()
