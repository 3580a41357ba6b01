"""The program of a fleet's endpoint as a process of its own, before an engine that only says what it was asked."""

import asyncio
import hashlib
import http.client
import json
import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

from aiohttp import web

from sparkops.core.fleet.people import People, PersonKey, written
from sparkops.core.fleet.routes import ModelRoute, RoutedServer
from sparkops.core.fleet.usage import SUMS
from sparkops.core.revision import Member
from sparkops.node_commands import gateway
from sparkops.remote.frame import script_text

OWN = "sk-own"
USAGE = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
JSON = "application/json"
CHAT = {"messages": [{"role": "user", "content": "Hello"}]}
REQUESTS: dict[str, dict[str, Any]] = {
    "/v1/chat/completions": CHAT,
    "/chat/completions": CHAT,
    "/v1/completions": {"prompt": "Hello"},
    "/v1/messages": {**CHAT, "max_tokens": 5},
    "/v1/responses": {"input": "Hello"},
    "/v1/embeddings": {"input": "Hello"},
    "/v1/rerank": {"query": "a", "documents": ["b"]},
    "/v2/rerank": {"query": "a", "documents": ["b"]},
    "/v1/score": {"text_1": "a", "text_2": "b"},
}
"""Each path of the endpoint with a request."""


def digest(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()


def running(container: Path) -> bool:
    return container.exists() and container.read_text().startswith("running")


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


class Engine:
    """Answers each kind of request as vLLM does. `asked` are the requests; `hold` keeps streams from ending.

    It is there while its container's file says `running`, if it has one.
    """

    def __init__(self, key: str = OWN, container: Path | None = None) -> None:
        self.container = container
        self.key, self.asked, self.gone = key, list[dict[str, Any]](), 0
        self.hold, self.status, self.port = False, 200, free_port()
        self.loop = asyncio.new_event_loop()
        self.ready = threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()
        assert self.ready.wait(200)

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        app = web.Application()
        app.router.add_get("/health", self.health)
        app.router.add_post("/{path:.+}", self.answer)
        self.runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
        self.loop.run_until_complete(self.runner.setup())
        self.loop.run_until_complete(web.TCPSite(self.runner, "127.0.0.1", self.port).start())
        self.ready.set()
        self.loop.run_forever()
        self.loop.run_until_complete(self.runner.cleanup())
        self.loop.close()

    def end(self) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(20)

    async def health(self, request: web.Request) -> web.Response:
        return web.Response(status=200 if self.container is None or running(self.container) else 503)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        assert self.container is None or running(self.container), "asked while it is stopped"
        body = await request.json()
        self.asked.append({"path": request.path, "body": body, "key": request.headers.get("Authorization")})
        if request.headers.get("Authorization") != f"Bearer {self.key}":
            return web.json_response({"error": "Unauthorized"}, status=401)
        if self.status != 200:
            return web.json_response({"error": {"message": "no"}}, status=self.status)
        if body.get("stream"):
            return await self._stream(request, body)
        return web.json_response(_whole(request.path, body))

    async def _stream(self, request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        out = web.StreamResponse(headers={"Content-Type": "text/event-stream; charset=utf-8"})
        await out.prepare(request)
        *first, last = _events(request.path, body)
        try:
            for one in first:
                await out.write(one)
            while self.hold:
                await asyncio.sleep(0.02)
        except asyncio.CancelledError:
            self.gone += 1
            raise
        await out.write(last)
        return out


def _whole(path: str, body: dict[str, Any]) -> dict[str, Any]:
    about = {"id": "x-1", "created": 1, "model": body["model"]}
    if path == "/v1/messages":
        said = {"id": "msg_1", "type": "message", "role": "assistant", "model": body["model"], "stop_sequence": None}
        usage = {"input_tokens": 7, "output_tokens": 3}
        return {**said, "content": [{"type": "text", "text": "Paris"}], "stop_reason": "end_turn", "usage": usage}
    if path == "/v1/embeddings":
        data = [{"object": "embedding", "index": 0, "embedding": [0.5, 0.25]}]
        return {**about, "object": "list", "data": data, "usage": {"prompt_tokens": 7, "total_tokens": 7}}
    if path in ("/v1/rerank", "/v2/rerank"):
        return {**about, "results": [{"index": 0, "relevance_score": 0.9}], "usage": {"total_tokens": 7}}
    if path == "/v1/score":
        return {**about, "object": "list", "data": [{"index": 0, "score": 0.9}], "usage": {"prompt_tokens": 7}}
    choice = {
        "index": 0,
        "finish_reason": "stop",
        "message": {"role": "assistant", "content": "Paris"},
        "text": "Paris",
    }
    return {**about, "object": "chat.completion", "choices": [choice], "usage": USAGE}


def _events(path: str, body: dict[str, Any]) -> list[bytes]:
    if path == "/v1/messages":
        return [f"event: {one['type']}\ndata: {json.dumps(one)}\n\n".encode() for one in _messages(body["model"])]
    about = {"id": "x-1", "created": 1, "model": body["model"], "object": "chat.completion.chunk"}
    parts = [{"index": 0, "delta": {"role": "assistant", "content": word}, "finish_reason": None} for word in "abc"]
    chunks: list[dict[str, Any]] = [{**about, "choices": [part]} for part in parts]
    if (body.get("stream_options") or {}).get("include_usage"):
        chunks.append({**about, "choices": [], "usage": USAGE})
    return [*(b"data: " + json.dumps(one).encode() + b"\n\n" for one in chunks), b"data: [DONE]\n\n"]


def _messages(model: str) -> list[dict[str, Any]]:
    message = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [],
        "stop_reason": None,
    }
    usage = {"input_tokens": 7, "output_tokens": 0}
    return [
        {"type": "message_start", "message": {**message, "stop_sequence": None, "usage": usage}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Paris"}},
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn", "stop_sequence": None},
            "usage": {"output_tokens": 3},
        },
        {"type": "message_stop"},
    ]


class Front:
    """The endpoint with one engine, whose model it knows as `coder` and `auto`; `open` needs no key."""

    def __init__(self, root: Path, engine: Engine) -> None:
        self.root, self.engine, self.port = root, engine, free_port()
        self.asked: list[Asked] = []
        self.routes, self.people = root / "etc/sparkops", root / "var/lib/sparkops-people"
        for folder in (self.routes / gateway.KEYS, self.people):
            folder.mkdir(parents=True)
        (self.routes / gateway.KEYS / "chat").write_text(OWN)
        self.route(engine)
        self.keys()

    def route(self, *engines: Engine) -> None:
        places = [Member(f"node{at}", "127.0.0.1", "server", 0, one.port) for at, one in enumerate(engines)]
        servers = tuple(RoutedServer("chat", place, digest(OWN)) for place in places)
        named = [ModelRoute(name, "org/model", "chat", servers) for name in ("auto", "coder")]
        self._put(self.routes / gateway.CONFIG, gateway.config(named))

    def keys(self, **people: dict[str, Any]) -> None:
        """Give these people keys, `sk-NAME` each, with their limits."""
        entries = {name: PersonKey(digest(f"sk-{name}"), "2026-11-01", **limits) for name, limits in people.items()}
        self._put(self.people / "keys.json", written(People(entries)))

    def _put(self, path: Path, text: str) -> None:
        path.with_suffix(".new").write_text(text)
        path.with_suffix(".new").replace(path)

    def start(self) -> None:
        words = ["sh", "-c", script_text("gateway"), "gateway", "--port", str(self.port)]
        path = f"{self.root}/bin:{Path(sys.executable).parent}:{os.environ['PATH']}"
        environment = {**os.environ, "SPARKOPS_ROOT": str(self.root), "PATH": path}
        self.log = (self.root / "log").open("wb")
        self.process = subprocess.Popen(words, env=environment, stdout=self.log, stderr=self.log)
        assert eventually(self.answers), self.said()

    def end(self) -> None:
        for one in self.asked:
            one.close()
        self.process.terminate()
        self.process.wait(200)
        self.log.close()

    def answers(self) -> bool:
        try:
            return self.ask("GET /health").status == 200
        except OSError:
            return False

    def said(self) -> str:
        return (self.root / "log").read_text()

    def usage(self) -> dict[str, Any]:
        """What was used today, by person: the sums of all models."""
        text = (self.people / "usage.json").read_text() if (self.people / "usage.json").exists() else '{"days": {}}'
        days = json.loads(text)["days"]
        people = [(name, models) for day in days.values() for name, models in day.items()]
        return {name: {key: sum(one[key] for one in models.values()) for key in SUMS} for name, models in people}

    def ask(
        self,
        line: str,
        body: Any = None,
        key: str = "",
        header: str = "Authorization",
        more: dict[str, str] | None = None,
    ) -> "Asked":
        """A request, `METHOD PATH`; its body is JSON, or bytes as they are."""
        found = Asked(self.port, line, body, key, header, more or {})
        self.asked.append(found)
        return found


class Asked:
    """An answer, of which the body is read when it is wanted."""

    def __init__(self, port: int, line: str, body: Any, key: str, header: str, more: dict[str, str]) -> None:
        method, _, path = line.partition(" ")
        self.link = http.client.HTTPConnection("127.0.0.1", port, timeout=300)
        headers = {
            "Content-Type": JSON,
            **({header: f"Bearer {key}" if header == "Authorization" else key} if key else {}),
            **more,
        }
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        try:
            self.link.request(method, path, data, headers)
            self.answer = self.link.getresponse()
        except BaseException:
            self.link.close()
            raise
        self.status, self.after = self.answer.status, self.answer.headers.get("Retry-After")

    def text(self) -> str:
        try:
            return self.answer.read().decode()
        finally:
            self.close()

    def close(self) -> None:
        self.answer.close()
        self.link.close()

    def json(self) -> Any:
        return json.loads(self.text())


def eventually(done: Any, seconds: float = 200) -> bool:
    until = time.monotonic() + seconds
    while not done():
        if time.monotonic() > until:
            return False
        time.sleep(0.05)
    return True
