"""A request for a model as clients send it: its key, its body, and who asks."""

from __future__ import annotations

import asyncio
import json
import time
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from sparkops.node.gatewayforward import Passage
from sparkops.node.gatewaykeys import Denied, Person
from sparkops.node.gatewayroutes import NamedRoute, Server

LARGEST = 64 << 20
"""Bytes of a request."""

GONE = 499
"""Stands in the log for a client that went away."""

UPLOAD = 300
"""Seconds in which a request must be here."""


@dataclass(frozen=True)
class Caller:
    """Who asks: a person, or whoever has a deployment's own key; with the digest of the key."""

    key: str
    digest: str
    person: Person | None

    @property
    def name(self) -> str:
        if self.person:
            return self.person.name
        return "own key" if self.digest else "no key"

    def opens(self, server: Server) -> bool:
        return self.person is not None or server.opened_by in ("", self.digest)

    def may(self, route: NamedRoute) -> bool:
        if self.person is None:
            return route.opened_by(self.digest)
        return self.person.models is None or route.name in self.person.models


@dataclass
class Asking:
    """A request for a model as it goes on: when it began, who asks, where it goes, what came of it."""

    request: web.Request
    began: float = field(default_factory=time.monotonic)
    caller: Caller | None = None
    passage: Passage | None = None
    status: int = GONE


def key_of(request: web.Request) -> str:
    """The key that a client sent, as OpenAI's or as Anthropic's clients do; empty without one."""
    sent = request.headers.get("Authorization", "")
    return sent[7:].strip() if sent[:7].lower() == "bearer " else request.headers.get("x-api-key", "")


async def body_of(request: web.Request) -> dict[str, Any]:
    """The JSON object that was sent; raises Denied with 400, 408 or 413."""
    try:
        async with asyncio.timeout(UPLOAD):
            body = json.loads(await request.read())  # JSON is UTF-8, whatever the client says
    except web.HTTPRequestEntityTooLarge:
        raise Denied(413, f"a request may have {LARGEST >> 20} MiB") from None
    except (ValueError, RecursionError, web.RequestPayloadError):
        raise Denied(400, "the body is no JSON") from None
    except TimeoutError:
        raise Denied(408, f"the request was not here within {UPLOAD} s") from None
    if not isinstance(body, dict):
        raise Denied(400, "the body is no JSON object")
    return body
