"""What people used: the tokens of an answer as it passes, and a file with the sums of each day."""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import time
from dataclasses import dataclass, field
from typing import Any

from sparkops.node.gatewayfiles import load, told, write_whole
from sparkops.node.gatewaykeys import today

DAYS = 92
"""How many days the file holds."""

LONGEST = 1 << 20
"""Bytes of an event of a stream; a longer one passes without being read."""

LAST = ("message_delta", "response.completed", "response.incomplete")
"""Events of Anthropic's messages and OpenAI's responses that have the last count."""

MOST = 1 << 30
"""Tokens that one answer may count as, whatever an engine says."""

_END = re.compile(rb"\r?\n\r?\n")

SUMS = ("requests", "refused", "tokens_in", "tokens_out", "seconds")


class Usage:
    """`usage.json`: {date: {person: {model: sums}}}; nothing of what was asked or answered.

    `today.json` beside it has the last day alone, so that who looks again and again need not read all of them.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.changed = False
        self.days: dict[str, dict[str, dict[str, dict[str, float]]]] = {}
        try:
            self.days = _sums(load(path)["days"])
        except FileNotFoundError:
            pass
        except Exception as error:  # it may be anybody's; then counting begins anew
            told(f"counts anew: usage.json cannot be used, and is usage.json.bad now: {error!r}")
            with contextlib.suppress(OSError):
                os.replace(path, f"{path}.bad")

    def add(self, person: str, model: str, **more: float) -> None:
        models = self.days.setdefault(today(time.time()), {}).setdefault(person, {})
        sums = models.setdefault(model, dict.fromkeys(SUMS, 0))
        for name, value in more.items():
            sums[name] = round(sums[name] + value, 3)
        self.changed = True

    def tokens(self, person: str, date: str) -> int:
        """All tokens of a person on a date, read and written."""
        models = self.days.get(date, {}).get(person, {}).values()
        return int(sum(one["tokens_in"] + one["tokens_out"] for one in models))

    def save(self) -> None:
        if self.changed:
            self.days = {date: self.days[date] for date in sorted(self.days)[-DAYS:]}
            write_whole(self.path, {"version": 1, "days": self.days})
            last = max(self.days)
            write_whole(f"{os.path.dirname(self.path)}/today.json", {"version": 1, "days": {last: self.days[last]}})
            self.changed = False


def _sums(days: Any) -> dict[str, dict[str, dict[str, dict[str, float]]]]:
    return {
        str(date): {
            str(person): {str(model): {name: _finite(sums.get(name, 0)) for name in SUMS} for model, sums in of.items()}
            for person, of in people.items()
        }
        for date, people in days.items()
    }


def _finite(value: Any) -> float:
    if isinstance(value, int | float) and math.isfinite(value) and value >= 0:
        return value
    raise ValueError(f"{value!r} is no count")


@dataclass
class Counted:
    """The tokens of one answer. A stream that ends before the engine's last count has about one token an event.

    `guess` is what its request may have had.
    """

    tokens_in: int = 0
    tokens_out: int = 0
    events: int = 0
    guess: int = 0
    last: bool = False
    rest: bytes = field(default=b"", repr=False)

    def whole(self, body: bytes) -> None:
        """An answer that is no stream."""
        try:
            self._count(json.loads(body))
        except (ValueError, RecursionError):
            return

    def passing(self, chunk: bytes, hide: bool) -> bytes:
        """Part of a stream of events, to be sent on; `hide`s the event that has only the count, which we asked for."""
        text, kept, begin = self.rest + chunk, list[bytes](), 0
        for end in _END.finditer(text):
            only_count = self._only_count(text[begin : end.start()])
            kept += [] if only_count and hide else [text[begin : end.end()]]
            begin = end.end()
        self.rest = text[begin:]
        if len(self.rest) > LONGEST:
            kept, self.rest = [*kept, self.rest], b""
        return b"".join(kept)

    def _only_count(self, event: bytes) -> bool:
        self.events += b"data: {" in event
        if b'"usage"' not in event or len(event) > LONGEST:
            return False
        data = b"".join(line[5:] for line in event.splitlines() if line.startswith(b"data:"))
        try:
            found = json.loads(data)
        except (ValueError, RecursionError):
            return False
        if not self._count(found):
            return False
        only_count: bool = found.get("choices") == []
        self.last = self.last or only_count or found.get("type") in LAST
        return only_count

    def _count(self, found: Any) -> bool:
        """Take the count that is in an object: of OpenAI's, Anthropic's and vLLM's own requests."""
        if not isinstance(found, dict):
            return False
        inside = [found, *(found[name] for name in ("message", "response") if isinstance(found.get(name), dict))]
        counts = [one["usage"] for one in inside if isinstance(one.get("usage"), dict)]
        for usage in counts:
            read = _number(usage, "prompt_tokens", "input_tokens")
            wrote = _number(usage, "completion_tokens", "output_tokens")
            if not read and not wrote:
                read = _number(usage, "total_tokens")
            self.tokens_in, self.tokens_out = max(self.tokens_in, read), max(self.tokens_out, wrote)
        return bool(counts)

    @property
    def sums(self) -> dict[str, int]:
        if self.last or not self.events:
            return {"tokens_in": self.tokens_in, "tokens_out": self.tokens_out}
        return {"tokens_in": self.tokens_in or self.guess, "tokens_out": max(self.tokens_out, self.events)}


def _number(usage: dict[str, Any], *names: str) -> int:
    return min(MOST, max(0, *(value for name in names if isinstance(value := usage.get(name), int)), 0))
