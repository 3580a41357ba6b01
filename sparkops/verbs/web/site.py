"""What the page of `watch --web` can ask; who may ask is decided in `core.watch.door`."""

import asyncio
import json
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from sparkops.core.printable import printable
from sparkops.core.watch.door import Asked, Door
from sparkops.files.package import page_file
from sparkops.remote.network import network
from sparkops.verbs.web.commands import CHANGES, NAME, SECTIONS, PageCommands
from sparkops.verbs.web.history import HOUR, SPANS, PageHistory
from sparkops.verbs.web.hub import PageHub

KINDS = {"html": "text/html; charset=utf-8", "js": "text/javascript; charset=utf-8", "css": "text/css; charset=utf-8"}
POLICY = "; ".join(
    (
        "default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self' data:", "connect-src 'self'",
        "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
    )
)  # fmt: skip
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
GO_ON = (
    '<!doctype html><title>sparkops</title><link rel="icon" href="data:,">'
    '<meta http-equiv="refresh" content="0; url=/"><a href="/">go on</a>'
)
"""What the link answers. A redirect would not do: from a link in another page, browsers send no cookie along it."""

ALIVE = 15.0
"""Seconds after which a stream without news gets a line that keeps the connection."""

Next = Callable[[Request], Awaitable[Response]]


@dataclass
class Site:
    """`log` gives the last lines of a log; `said` hears the token of the next link when one was used,
    `failed` of a bug. `every`: seconds between two looks for news; streams end when it has `ended`."""

    door: Door
    hub: PageHub
    history: PageHistory
    commands: PageCommands
    log: Callable[[str, str], list[str]]
    said: Callable[[str], None]
    failed: Callable[[str], None]
    every: float = 1.0
    ended: bool = False

    @property
    def app(self) -> Starlette:
        routes = [
            Route("/", self._page),
            Route("/{name}", self._file),
            Route("/api/events", self._events),
            Route("/api/history", self._past),
            Route("/api/log", self._lines),
            Route("/api/shown/{section}", self._shown),
            Route("/api/about", self._about),
            Route("/api/change", self._change, methods=["POST"]),
        ]
        guard = Middleware(BaseHTTPMiddleware, dispatch=self._guard)
        return Starlette(routes=routes, middleware=[guard], exception_handlers={Exception: self._fail})

    async def _guard(self, request: Request, go_on: Next) -> Response:
        token, cookie = request.query_params.get("token", ""), request.cookies.get(self.door.cookie, "")
        verdict = self.door.verdict(Asked(request.method, request.url.path, request.headers, token, cookie))
        if verdict == "enter":
            response: Response = self._enter(request)
        elif verdict == "open":
            response = await go_on(request)
        else:
            response = PlainTextResponse("open the link that `sparkops watch --web` printed last\n", 403)
        response.headers.update(HEADERS)
        return response

    def _enter(self, request: Request) -> Response:
        session, token = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
        self.door.entered(session, token)
        self.said(token)
        response = HTMLResponse(GO_ON)
        secure = any(origin.startswith("https://") for origin in self.door.origins)
        response.set_cookie(self.door.cookie, session, httponly=True, samesite="strict", secure=secure)
        return response

    async def _fail(self, request: Request, error: Exception) -> Response:
        self.failed(f"{type(error).__name__}: {error}")
        return PlainTextResponse("a bug in sparkops; its terminal says more\n", 500, headers=HEADERS)

    def _page(self, request: Request) -> Response:
        return _content("index.html")

    def _file(self, request: Request) -> Response:
        return _content(str(request.path_params["name"]))

    def _about(self, request: Request) -> Response:
        changes = CHANGES if self.commands.changes else []
        return JSONResponse({"command": self.commands.command, "changes": changes, "keeps": self.history.keeps})

    async def _events(self, request: Request) -> Response:
        unbuffered = {"X-Accel-Buffering": "no"}  # nginx would hold them back
        return StreamingResponse(self._news(), media_type="text/event-stream", headers=unbuffered)

    async def _news(self) -> AsyncIterator[str]:
        number, silent = 0, 0.0
        self.hub.clients += 1
        try:
            while not self.ended:
                number, text = self.hub.since(number)
                silent = 0.0 if text else silent + self.every
                if text:
                    yield f"data: {text}\n\n"
                elif silent >= ALIVE:
                    silent = 0.0
                    yield ": here\n\n"
                await asyncio.sleep(self.every)
        finally:
            self.hub.clients -= 1

    def _past(self, request: Request) -> Response:
        of, span = request.query_params.get("of", ""), request.query_params.get("span", "")
        now = network().clock()
        return JSONResponse({"now": now, **self.history.of(of, int(span) if span in SPANS else HOUR, now)})

    def _lines(self, request: Request) -> Response:
        node, container = request.query_params.get("node", ""), request.query_params.get("container", "")
        if not self.hub.runs(node, container):
            return JSONResponse({"lines": ["(this container is not seen now)"]})
        return JSONResponse({"lines": list(map(printable, self.log(node, container)))})

    def _shown(self, request: Request) -> Response:
        section = request.path_params["section"]
        if section not in SECTIONS:
            return PlainTextResponse("no such section\n", 404)
        return JSONResponse(self.commands.shown(section, "anew" in request.query_params))

    async def _change(self, request: Request) -> Response:
        """JSON, one object a line."""
        try:
            wanted = await request.json()
            verb, deployment, check = wanted["verb"], wanted["deployment"], wanted["check"]
        except (ValueError, KeyError, TypeError, RecursionError):
            return PlainTextResponse("verb, deployment and check are needed\n", 400)
        if not self.commands.changes:
            return PlainTextResponse("start with --allow-changes to change anything\n", 403)
        if verb not in CHANGES or not isinstance(check, bool):
            return PlainTextResponse(f"verb: one of {', '.join(CHANGES)}; check: true or false\n", 400)
        if not isinstance(deployment, str) or not NAME.fullmatch(deployment) or not self.hub.has(deployment):
            return PlainTextResponse("no such deployment\n", 404)
        told = self.commands.change(verb, deployment, check)
        return StreamingResponse((f"{json.dumps(one)}\n" for one in told), media_type="application/x-ndjson")


def _content(name: str) -> Response:
    kind, found = KINDS.get(name.rpartition(".")[2]), page_file(name)
    if kind is None or found is None:
        return PlainTextResponse("no such page\n", 404)
    return Response(found, media_type=kind)
