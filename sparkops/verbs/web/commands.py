"""Other commands that the page shows or runs: each is a sparkops of its own, with the words that this one was given."""

import json
import os
import re
import shlex
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any

from sparkops.core.printable import printable

SECTIONS = {"preflight": ("preflight",), "fabric": ("fabric",), "benchmarks": ("bench", "list")}
"""Sections of the page that are answers of other commands."""

CHANGES = ("restart", "stop", "start")
"""What a button may do to a deployment; each has `--check`."""

NAME = re.compile(r"\w[\w.-]*")
"""A name that is no option of a command."""

FRESH = 60.0
"""Seconds for which an answer is shown again."""

LONGEST = 300.0
"""Seconds that the command of a section may take."""


@dataclass
class PageCommands:
    """`command` reaches these nodes, such as `sparkops -i lab`; `secrets` go into the environment of what it runs."""

    command: str
    changes: bool = False
    secrets: Mapping[str, str] = field(default_factory=dict)
    _answers: dict[str, tuple[float, dict[str, Any]]] = field(default_factory=dict)
    _turns: dict[str, threading.Lock] = field(default_factory=lambda: {name: threading.Lock() for name in SECTIONS})
    _running: set[threading.Thread] = field(default_factory=set)

    def shown(self, section: str, anew: bool = False) -> dict[str, Any]:
        """The document of a section, the command that shows it, and how old it is in seconds."""
        words = SECTIONS[section]
        with self._turns[section]:
            at, document = self._answers.get(section, (0.0, {}))
            if anew or not document or time.monotonic() - at > FRESH:
                at, document = time.monotonic(), self._document(*words)
                self._answers[section] = at, document
        return {"command": self.typed(*words), "document": document, "age": round(time.monotonic() - at)}

    def change(self, verb: str, deployment: str, check: bool) -> Iterator[dict[str, Any]]:
        """What a change would do (`check`) or does, line by line as the command prints it, then whether it was good.

        It goes on when nobody reads any more: half a change would be worse.
        """
        process = self._started(verb, deployment, *(("--check",) if check else ()), stderr=subprocess.STDOUT)
        lines: SimpleQueue[str | None] = SimpleQueue()
        follower = threading.Thread(target=self._follow, args=(process, lines), daemon=True)
        self._running.add(follower)
        follower.start()
        yield {"command": self.typed(verb, deployment)}
        while (line := lines.get()) is not None:
            yield {"line": printable(line)}
        yield {"ok": process.returncode == 0}

    def wait(self, said: Callable[[str], None]) -> None:
        """Let the changes that run come to their end."""
        for one in [*self._running]:
            said("a change that the page began still runs; sparkops waits for it (Ctrl-C: do not wait)")
            one.join()

    def typed(self, *words: str) -> str:
        return f"{self.command} {shlex.join(words)}"

    def _follow(self, process: "subprocess.Popen[str]", lines: "SimpleQueue[str | None]") -> None:
        for line in process.stdout or ():
            lines.put(line.rstrip("\n"))
        process.wait()
        self._running.discard(threading.current_thread())
        lines.put(None)

    def _document(self, *words: str) -> dict[str, Any]:
        process = self._started(*words, "--json", stderr=subprocess.PIPE)
        try:
            out, err = process.communicate(timeout=LONGEST)
        except subprocess.TimeoutExpired:
            process.terminate()
            out, err = "", f"it took more than {LONGEST:g} s"
        try:
            found = json.loads(out)
        except ValueError:
            found = {"error": {"message": "the command gave no answer", "hint": printable(err[-500:])}}
        return found if isinstance(found, dict) else {}

    def _started(self, *words: str, stderr: int) -> "subprocess.Popen[str]":
        """In a session of its own, so that Ctrl-C in the terminal of the watch does not reach it; `-P`: Python files of
        the working directory are not its modules."""
        program = [sys.executable, "-P", "-m", *shlex.split(self.command), *words]
        return subprocess.Popen(
            program, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=stderr, text=True, encoding="utf-8",
            errors="replace", env={**os.environ, **self.secrets}, start_new_session=True,
        )  # fmt: skip
