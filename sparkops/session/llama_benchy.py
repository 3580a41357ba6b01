"""Run llama-benchy on this machine: one point, its progress as it comes, its result or its errors."""

import contextlib
import importlib.util
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import IO, Any, Protocol

from sparkops.files.package import PACKAGE
from sparkops.remote import Cancel
from sparkops.remote.network import Replaceable
from sparkops.session.child import child

SCRIPT = PACKAGE / "node" / "benchy.py"
LAST_LINES = 8
WHOLE, SLACK = 0.9, 4
"""An answer is complete from WHOLE times the tokens asked for, minus SLACK: tokens without text are not counted."""

Words = Sequence[str]
Told = Callable[[Mapping[str, Any]], None]
Look = Callable[[float, Cancel], None]
"""Takes the seconds since the start, and a cancel that is set at the end of the benchmark."""
FIRST, EVERY = 1.0, 10.0


@dataclass(frozen=True)
class BenchyEnded:
    """`document` is llama-benchy's result or None; `said` its last lines if it failed."""

    document: Mapping[str, Any] | None
    errors: tuple[str, ...]
    code: int
    said: str = ""


class Tool(Protocol):
    """llama-benchy on this machine."""

    def installed(self) -> bool:
        """Whether it is installed (the extra `bench`)."""

    def measure(self, words: Words, key: str, book: str | None, told: Told) -> BenchyEnded:
        """Run it to its end; an interrupt ends it and is raised again."""

    def beside(self, look: Look) -> AbstractContextManager[None]:
        """Inside, call `look` now and then without delaying the benchmark."""


class Installed:
    """Runs it as a process, and `look` in a thread."""

    def installed(self) -> bool:
        return importlib.util.find_spec("llama_benchy") is not None

    def measure(self, words: Words, key: str, book: str | None, told: Told) -> BenchyEnded:
        with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as errors, child(
            [sys.executable, str(SCRIPT), *words], _end, env=_environment(book), text=True, encoding="utf-8",
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, start_new_session=os.name == "posix",
        ) as process:  # fmt: skip
            assert process.stdin is not None
            with contextlib.suppress(BrokenPipeError):
                process.stdin.write(key + "\n")
                process.stdin.close()
            return _ended(process, errors, told)

    @contextlib.contextmanager
    def beside(self, look: Look) -> Iterator[None]:
        end = threading.Event()
        watcher = threading.Thread(target=_look, args=(look, end), name="bench-watch", daemon=True)
        watcher.start()
        try:
            yield
        finally:
            end.set()
            watcher.join()


def _look(look: Look, end: threading.Event) -> None:
    began, pause = time.monotonic(), FIRST
    while not end.wait(pause):
        look(round(time.monotonic() - began, 1), end)
        pause = EVERY


tool = Replaceable[Tool](Installed())


def events(lines: Iterable[str]) -> Iterator[Mapping[str, Any]]:
    """The JSON objects of its output, one a line; other lines are ignored."""
    for line in lines:
        with contextlib.suppress(ValueError):
            event = json.loads(line)
            if isinstance(event, dict):
                yield event


@dataclass
class BenchyOutcome:
    """Collects the result and the failed requests from its events; passes each event on to `told`."""

    told: Told
    document: Mapping[str, Any] | None = None
    errors: list[str] = field(default_factory=list)
    asked: dict[Any, int] = field(default_factory=dict)
    """Tokens asked for, by request."""
    counted: bool = False
    uncounted: list[str] = field(default_factory=list)
    """Answers without the token count at their end; they have failed if other answers have one."""

    def take(self, event: Mapping[str, Any]) -> None:
        match event.get("type"):
            case "result":
                self.document = event.get("document")
                return
            case "request_start":
                self.asked[event.get("request_id")] = int(event.get("response_size") or 0)
            case "request_end":
                self._end(event)
        self.told(event)

    def _end(self, event: Mapping[str, Any]) -> None:
        """Count the tokens: if the server behind a proxy dies, the stream ends without an error."""
        made, asked = int(event.get("total_tokens") or 0), self.asked.get(event.get("request_id"), 0)
        cut = f"an answer ended after {made} of {asked} tokens"
        if event.get("error"):
            self.errors.append(str(event["error"]))
        elif made < WHOLE * asked - SLACK:
            self.errors.append(cut)
        elif event.get("prompt_tokens"):
            self.counted = True
        else:
            self.uncounted.append(cut)

    def ended(self, code: int, said: str) -> BenchyEnded:
        """The result; with its last lines if it failed."""
        lines = [line for line in said.splitlines() if line.strip()]
        last = "\n".join(lines[-LAST_LINES:]) if code else ""
        errors = [*self.errors, *(self.uncounted if self.counted else ())]
        return BenchyEnded(self.document, tuple(dict.fromkeys(errors)), code, last)


def _ended(process: subprocess.Popen[str], errors: IO[str], told: Told) -> BenchyEnded:
    assert process.stdout is not None
    outcome = BenchyOutcome(told)
    for event in events(process.stdout):
        outcome.take(event)
    code = process.wait()
    errors.seek(0)
    return outcome.ended(code, errors.read())


def _environment(book: str | None) -> dict[str, str]:
    """Without hub and proxy: the endpoint is on the local network, and the tokenizer is a local file."""
    own = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "NO_PROXY": "*", "no_proxy": "*"}
    return {**os.environ, **own, **({"SPARKOPS_BOOK": book} if book else {})}


def _end(process: subprocess.Popen[str]) -> None:
    """Ask it to end; after five seconds or another interrupt, kill it."""
    if os.name == "posix":
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
    else:
        process.terminate()
    try:
        process.wait(5)
    except (subprocess.TimeoutExpired, KeyboardInterrupt):
        process.kill()
        process.wait()
