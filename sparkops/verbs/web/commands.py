"""Other commands that the page shows or runs: each is a sparkops of its own, with the words that this one was given."""

import asyncio
import json
import re
import shlex
import sys
import time
from dataclasses import dataclass, field
from typing import Any

from sparkops.core.printable import printable

SHOWN = {"preflight": ("preflight",), "fabric": ("fabric",), "benchmarks": ("bench", "list")}
"""Sections of the page that are answers of other commands."""

CHANGES = ("restart", "stop", "start")
"""What a button may do to a deployment; each has `--check`."""

FRESH = 300.0
"""Seconds for which an answer is shown again."""

LONGEST = 3600.0
NAME = re.compile(r"\w[\w.-]*")


@dataclass
class PageCommands:
    """`command` reaches these nodes, such as `sparkops -i lab`."""

    command: str
    changes: bool = False
    _answers: dict[str, tuple[float, dict[str, Any]]] = field(default_factory=dict)
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def shown(self, section: str, anew: bool = False) -> dict[str, Any]:
        """The document of a section, the command that shows it, and how old it is. One asks at a time."""
        words = SHOWN[section]
        async with self._turn:
            at, document = self._answers.get(section, (0.0, {}))
            if anew or not document or time.monotonic() - at > FRESH:
                at, document = time.monotonic(), await self._document(*words)
                self._answers[section] = at, document
        return {"command": self.typed(*words), "document": document, "age": round(time.monotonic() - at)}

    async def change(self, verb: str, deployment: str, check: bool) -> dict[str, Any]:
        """What a change would do (`check`), or what it did, as the command prints it."""
        code, out, err = await self._run(verb, deployment, *(("--check",) if check else ()))
        return {
            "command": self.typed(verb, deployment),
            "lines": [*out.splitlines(), *err.splitlines()],
            "ok": code == 0,
        }

    def typed(self, *words: str) -> str:
        return f"{self.command} {shlex.join(words)}"

    async def _document(self, *words: str) -> dict[str, Any]:
        _, out, err = await self._run(*words, "--json")
        try:
            found = json.loads(out)
        except ValueError:
            found = {"error": {"message": "the command gave no answer", "hint": printable(err[-500:])}}
        return found if isinstance(found, dict) else {}

    async def _run(self, *words: str) -> tuple[int | None, str, str]:
        """Exit code and what it printed."""
        program = [sys.executable, "-m", *shlex.split(self.command), *words]
        pipe, null = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
        process = await asyncio.create_subprocess_exec(*program, stdin=null, stdout=pipe, stderr=pipe)
        try:
            out, err = await asyncio.wait_for(process.communicate(), LONGEST)
        except (TimeoutError, asyncio.CancelledError):
            process.kill()
            raise
        return process.returncode, out.decode("utf-8", "replace"), err.decode("utf-8", "replace")
