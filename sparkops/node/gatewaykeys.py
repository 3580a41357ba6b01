"""Who may ask what: people's keys and their limits, and the deployments' own keys."""

from __future__ import annotations

import contextlib
import datetime
import hashlib
import math
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from sparkops.node.gatewayfiles import load

MINUTE = 60.0
DAY = 86400


@dataclass(frozen=True)
class Person:
    """An entry of `keys.json`. None stands for no limit; `expires` is a date, the last day on which the key is good."""

    name: str
    digest: str
    models: tuple[str, ...] | None = None
    rpm: int | None = None
    parallel: int | None = None
    tokens_per_day: int | None = None
    expires: str | None = None

    def expired(self, now: float) -> bool:
        return self.expires is not None and today(now) > self.expires


class Denied(Exception):
    """A refusal: its HTTP status, what to tell, and after how many seconds to ask again."""

    def __init__(self, status: int, message: str, after: float | None = None, param: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.after = after
        self.param = param


def people(path: str) -> dict[str, Person]:
    """The entries of `keys.json` by digest; raises where it is not what sparkops wrote."""
    found = {}
    for name, entry in load(path)["keys"].items():
        models = entry.get("models")
        one = Person(
            name,
            _text(entry["digest"]),
            None if models is None else tuple(map(_text, models)),
            _count(entry.get("rpm")),
            _count(entry.get("parallel")),
            _count(entry.get("tokens_per_day")),
            None if entry.get("expires") is None else datetime.date.fromisoformat(entry["expires"]).isoformat(),
        )
        found[one.digest] = one
    return found


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError(f"{value!r} is no text")
    return value


def _count(value: Any) -> int | None:
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and value > 0):
        return value
    raise ValueError(f"{value!r} is no number above 0")


def digest_of(key: str) -> str:
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).hexdigest() if key else ""


def today(now: float) -> str:
    """The date in UTC."""
    return datetime.datetime.fromtimestamp(now, datetime.UTC).date().isoformat()


@dataclass
class RequestMeter:
    """What a person does now: when requests of the last minute began, on a clock that nobody sets, and how many run."""

    begun: deque[float] = field(default_factory=deque)
    running: int = 0


class Limits:
    """Holds people to their limits. `tokens` tells how many tokens a person had on a date."""

    def __init__(self, tokens: Callable[[str, str], int]) -> None:
        self.tokens = tokens
        self.meters: dict[str, RequestMeter] = {}

    @contextlib.contextmanager
    def within(self, person: Person | None) -> Iterator[None]:
        """While a request of a person goes on; raises Denied with 429. A deployment's own key has no limits."""
        if person is None:
            yield
            return
        self.enter(person)
        try:
            yield
        finally:
            self.leave(person)

    def enter(self, person: Person, now: float | None = None, clock: float | None = None) -> None:
        """Count a request that begins; raises Denied with 429 if it is one too many. `leave` ends it."""
        now, clock = time.time() if now is None else now, time.monotonic() if clock is None else clock
        meter = self.meters.setdefault(person.name, RequestMeter())
        while meter.begun and meter.begun[0] <= clock - MINUTE:
            meter.begun.popleft()
        if person.parallel is not None and meter.running >= person.parallel:
            raise Denied(429, f"this API key has {meter.running} requests running, its limit at a time", 1)
        if person.rpm is not None and len(meter.begun) >= person.rpm:
            told = f"this API key may ask {person.rpm} times a minute"
            raise Denied(429, told, max(1, math.ceil(meter.begun[-person.rpm] + MINUTE - clock)))
        if person.tokens_per_day is not None and self.tokens(person.name, today(now)) >= person.tokens_per_day:
            told = f"this API key has had its {person.tokens_per_day} tokens of today; the day ends at 0:00 UTC"
            raise Denied(429, told, math.ceil(DAY - now % DAY))
        if person.rpm is not None:
            meter.begun.append(clock)
        meter.running += 1

    def leave(self, person: Person) -> None:
        meter = self.meters[person.name]
        meter.running -= 1
        if not meter.running and not meter.begun:
            del self.meters[person.name]
