"""The tool as a process: `start` as a person starts it, `cli` with its modules in memory already."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support import warm
from support.paths import ROOT
from support.person import Person, Ran, as_expected


class Tool(Person):
    """Whoever has a lab says where it is, where to work, whose inventory it is, and what else the environment has."""

    directory: Path
    work: Path
    inventory: str = "lab"
    patience: float = 300.0
    hidden: tuple[str, ...] = ("SPARK", "XDG_STATE")
    """Variables of whoever runs the tests that the tool must not see begin so."""

    _going: list[subprocess.Popen[str]]

    @property
    def own(self) -> dict[str, str]:
        """The person's environment."""
        raise NotImplementedError

    def environment(self, **more: str) -> dict[str, str]:
        kept = {key: value for key, value in os.environ.items() if not key.startswith(self.hidden)}
        python = os.pathsep.join(filter(None, (str(ROOT), kept.get("PYTHONPATH"))))
        return kept | {"SPARKOPS_LAB_DIR": str(self.directory), "PYTHONPATH": python} | self.own | more

    def _words(self, words: tuple[object, ...], lab: bool) -> list[str]:
        return [*(("-i", self.inventory) if lab else ()), *map(str, words)]

    def line(self, *words: object, lab: bool = True) -> list[str]:
        """The tool's command line, as a program that starts whole."""
        return [sys.executable, "-m", "sparkops", *self._words(words, lab)]

    def start(self, *words: object, lab: bool = True, **env: str) -> subprocess.Popen[str]:
        """The tool as a process that goes on."""
        pipe = subprocess.PIPE
        process = subprocess.Popen(
            self.line(*words, lab=lab), env=self.environment(**env), cwd=self.work, text=True,
            stdin=subprocess.DEVNULL, stdout=pipe, stderr=pipe,
        )  # fmt: skip
        self._going.append(process)
        return process

    def end(self) -> None:
        """No tool goes on that a failed test had started."""
        while self._going:
            with self._going.pop() as process:
                process.kill()

    def ended(self, process: subprocess.Popen[str], code: int | None = None) -> Ran:
        try:
            out, err = process.communicate(timeout=self.patience)
        except subprocess.TimeoutExpired:
            process.kill()
            pytest.fail(f"no end after {self.patience:.0f} s: {process.args}\n{''.join(process.communicate())}")
        return as_expected(Ran(process.returncode, out, err), process.args, code)

    def cli(self, *words: object, lab: bool = True, code: int | None = None, **env: str) -> Ran:
        """The tool, until it ends."""
        line = self._words(words, lab)
        try:
            ended = warm.run(line, env=self.environment(**env), cwd=self.work, seconds=self.patience)
        except subprocess.TimeoutExpired as late:
            pytest.fail(f"no end after {self.patience:.0f} s: {line}\n{late.output}{late.stderr}")
        return as_expected(Ran(ended.code, ended.out, ended.err), line, code)

    def fault(self, name: str, kind: str, off: bool = False, after: int = 0) -> None:
        raise NotImplementedError

    @contextlib.contextmanager
    def trouble(self, name: str, kind: str, after: int = 0) -> Iterator[None]:
        self.fault(name, kind, after=after)
        try:
            yield
        finally:
            self.fault(name, kind, off=True)


def inventory_as(own: Path, new: Path, *, user: str = "spark", become: str = "") -> Path:
    """A lab's inventory with its host keys, for another user, or for one who becomes root."""
    more = f"\n    become: {become}" if become else ""
    new.write_text(own.read_text().replace("user: spark", f"user: {user}{more}", 1))
    Path(f"{new}.known_hosts").write_text(Path(f"{own}.known_hosts").read_text())
    return new
