"""Hand a request on to a server of its model, and its answer back, as they are."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import aiohttp
from aiohttp import web

from sparkops.node.gatewaykeys import Denied
from sparkops.node.gatewayreplies import broken_off
from sparkops.node.gatewayroutes import Chooser, NamedRoute, Server
from sparkops.node.gatewayusage import Counted

PATHS = {
    **{f"{base}/{name}": f"/v1/{name}" for base in ("/v1", "") for name in (
        "chat/completions", "completions", "embeddings", "messages", "messages/count_tokens", "responses", "rerank",
        "score",
    )},
    "/v2/rerank": "/v2/rerank",
}  # fmt: skip
"""What clients may ask, and where vLLM answers it."""

COUNTS_IF_ASKED = ("/v1/chat/completions", "/v1/completions")
PASSED_ON = ("accept", "anthropic-beta", "anthropic-version", "x-request-id")
TIMEOUT = aiohttp.ClientTimeout(total=3600, sock_connect=5, sock_read=600)
BYTES_A_TOKEN = 4
"""Of a request, to guess its tokens while the engine has not told them."""

KEPT = 2.0
"""Seconds that an idle connection to an engine is kept: vLLM closes its side after five."""

REFUSED = (401, 502, 503, 504)
"""With these a server is asked no more than if it did not listen: a wrong key is the gateway's own fault."""

TRIES = 2
"""How many engines may work on one request: one that ends an engine must not end all."""


@dataclass(frozen=True)
class Request:
    """What a server is sent: where, and the `rest` of an object that begins with the model.

    `hide` the count of tokens in the stream, which only we want. `stream`: the client wants events.
    """

    path: str
    rest: bytes
    hide: bool
    stream: bool = False

    def data(self, served: str) -> bytes:
        """The body for a server that knows the model by this name."""
        return b'{"model":' + json.dumps(served).encode() + self.rest


def prepared(path: str, body: dict[str, Any]) -> Request:
    """The client's request as servers get it; raises Denied with 400."""
    options = body.get("stream_options") or {}
    if not isinstance(options, dict):
        raise Denied(400, "stream_options is an object", param="stream_options")
    for name, value in (("stream", body.get("stream")), ("include_usage", options.get("include_usage"))):
        if not isinstance(value, bool | None):  # engines take more for true, and would count other than we do
            raise Denied(400, f"{name} is true or false", param=name)
    stream = body.get("stream") is True
    hide = stream and path in COUNTS_IF_ASKED and not options.get("include_usage")
    rest = {name: value for name, value in body.items() if name != "model"}
    if hide:
        rest["stream_options"] = {**options, "include_usage": True}
    try:
        text = json.dumps(rest, separators=(",", ":"))
        return Request(path, (f",{text[1:]}" if rest else "}").encode(), hide, stream)
    except RecursionError:
        raise Denied(400, "the body is nested too deep") from None


@dataclass
class Passage:
    """A request under way: the servers that may answer it, each with its key, and what of the answer has passed.

    It was `held` for so many seconds. The server that was asked last knows the model as `served`. Once one has
    `answered`, what breaks off is not asked again.
    """

    client: web.Request
    route: NamedRoute
    servers: Sequence[tuple[Server, str]]
    request: Request
    counted: Counted = field(default_factory=Counted)
    out: web.StreamResponse | None = None
    held: float = 0.0
    served: str = ""
    answered: bool = False

    async def begin(self, status: int = 200, kind: str = "text/event-stream; charset=utf-8") -> web.StreamResponse:
        """The stream to the client, from now on."""
        if self.out is None:
            headers = {"Content-Type": kind, "Cache-Control": "no-cache"}
            self.out = web.StreamResponse(status=status, headers=headers)
            await self.out.prepare(self.client)
        return self.out

    async def beat(self, text: str) -> None:
        """A sign of life on a stream that the engine has not begun: a comment, which clients skip."""
        out = await self.begin()
        await out.write(f": {text}\n\n".encode())

    async def end(self, denied: Denied) -> web.StreamResponse:
        """End the stream that has begun; raises Denied if none has."""
        if self.out is None:
            raise denied
        await self.out.write(broken_off(denied, self.request.path))
        return self.out


async def forward(session: aiohttp.ClientSession, one: Passage, chooser: Chooser) -> web.StreamResponse:
    """Ask one server after the other until one answers; raises Denied if none does."""
    status, reached = 0, 0
    for server, key in (*one.servers, *one.servers[:1]):  # the first once more: it may just have closed the connection
        one.served = server.served
        try:
            async with session.post(
                f"{server.url}{one.request.path}",
                data=one.request.data(server.served),
                headers=_headers(one.client, key),
                allow_redirects=False,
            ) as answer:
                status = answer.status
                if status not in REFUSED and (status != 500 or reached + 1 >= TRIES):
                    return await _pass(answer, one)
                reached += status == 500
        except aiohttp.SocketTimeoutError:
            raise Denied(
                504, f"the engine of {one.route.name} has said nothing for {TIMEOUT.sock_read:.0f} s"
            ) from None
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            if one.answered:
                raise  # the client went away
            status, reached = 0, reached + (not isinstance(error, aiohttp.ClientConnectorError | TimeoutError))
        chooser.fails(server)
        if reached >= TRIES:
            break
    if status == 401:
        raise Denied(502, f"the engine of {one.route.name} refuses the gateway's key: `sparkops apply` renews it")
    raise Denied(503, f"no server of {one.route.name} answers now: `sparkops status` tells more", 5)


def _headers(client: web.Request, key: str) -> dict[str, str]:
    passed = {name: client.headers[name] for name in PASSED_ON if name in client.headers}
    own = {"Content-Type": "application/json", "Accept-Encoding": "identity", "Authorization": f"Bearer {key}"}
    return {**passed, **own}


async def _pass(answer: aiohttp.ClientResponse, one: Passage) -> web.StreamResponse:
    kind = answer.headers.get("Content-Type", "application/json")
    if answer.content_type != "text/event-stream":
        body = await answer.read()
        one.counted.whole(body)
        if one.out is not None:  # it was held, and refused at last
            raise Denied(answer.status, body.decode(errors="replace")[:2000])
        return web.Response(status=answer.status, body=body, headers={"Content-Type": kind})
    one.answered, one.counted.guess = True, len(one.request.rest) // BYTES_A_TOKEN
    out = await one.begin(answer.status, kind)
    try:
        async for chunk in answer.content.iter_any():
            if passed := one.counted.passing(chunk, one.request.hide):
                await out.write(passed)
        await out.write(one.counted.rest)
    except (aiohttp.ClientPayloadError, aiohttp.ServerDisconnectedError, TimeoutError):
        await one.end(Denied(502, "the engine broke off"))
    return out
