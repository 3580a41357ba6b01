"""What the proxy does with a request."""

import contextlib
import http.client
import json
import random
import threading
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from sparklab.engine.http import Handler, event
from sparklab.engine.proxy_auth import ProxyException
from sparklab.engine.proxy_config import Config, Deployment

VERSION = "1.106.2"
HEALTH_PATIENCE = 5.0
SERVER_ERROR = 500
WRONG_KEY = 401
ROUTES = ("/chat/completions", "/completions", "/embeddings")


class Router:
    """simple-shuffle over what is not cooling down."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.lock = threading.Lock()

    def tries(self, model: str) -> list[Deployment]:
        """The backends to ask one after the other: those that do not cool down, in random order, repeatedly."""
        every = [deployment for deployment in self.config.deployments if deployment.name == model]
        warm = [deployment for deployment in every if deployment.cold_until <= time.monotonic()]
        random.shuffle(warm)
        count = self.config.retries + 1
        return (warm * count)[:count]

    def failed(self, deployment: Deployment) -> None:
        with self.lock:
            deployment.failures += 1
            if deployment.failures > self.config.allowed_fails or len(self.config.deployments) > 1:
                deployment.cold_until = time.monotonic() + self.config.cooldown


class Unreachable(Exception):
    """A backend that could not be asked."""


def send(deployment: Deployment, path: str, body: dict[str, Any], timeout: float) -> http.client.HTTPResponse:
    url = urlsplit(deployment.base)
    link = http.client.HTTPConnection(url.hostname or "", url.port or 80, timeout=timeout)
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {deployment.key}"}
    try:
        link.request("POST", url.path + path, json.dumps(body | {"model": deployment.model}), headers)
        return link.getresponse()
    except OSError as error:
        raise Unreachable(f"Cannot connect to host {url.hostname}:{url.port} ssl:default [{error}]") from error
    except http.client.HTTPException as error:
        raise Unreachable(f"Server disconnected [{error!r}]") from error
    finally:
        if link.sock is not None:
            link.sock.close()  # the answer keeps it open until it is read


def whole(answer: http.client.HTTPResponse) -> bytes:
    """The body to its end; a server that ends before that has not answered."""
    try:
        return answer.read()
    except (OSError, http.client.HTTPException) as error:
        raise Unreachable(f"Server disconnected [{error!r}]") from error


def handler(router: Router) -> type[Handler]:
    return type("ProxyHandler", (ProxyHandler,), {"router": router})


class ProxyHandler(Handler):
    router: Router

    def do_GET(self) -> None:
        path = self.route
        if path in ("/health/liveliness", "/health/liveness"):
            self.reply(200, "I'm alive!")
        elif path == "/health/readiness":
            self.reply(200, {"status": "healthy", "db": "Not connected", "litellm_version": VERSION})
        elif not self._allowed():
            return
        elif path in ("/v1/models", "/models"):
            names = dict.fromkeys(deployment.name for deployment in self.router.config.deployments)
            data = [{"id": name, "object": "model", "created": 1677610602, "owned_by": "openai"} for name in names]
            self.reply(200, {"data": data, "object": "list"})
        elif path == "/health":
            self.reply(200, self._health())
        else:
            self.reply(404, {"detail": "Not Found"})

    def do_POST(self) -> None:
        path, body = self.route.removeprefix("/v1"), self.body()
        if not self._allowed():
            return
        if body is None:
            self.reply(400, {"detail": "Invalid JSON"})
        elif path not in ROUTES:
            self.reply(404, {"detail": "Not Found"})
        else:
            self._forward(path, body)

    def _allowed(self) -> bool:
        try:
            self.router.config.check(self, self.bearer or self.headers.get("x-api-key", ""))
        except ProxyException as error:
            self._error(int(error.code), error.message, error.type)
            return False
        return True

    def _error(self, code: int, message: str, kind: str) -> None:
        self.reply(code, {"error": {"message": message, "type": kind, "param": "None", "code": str(code)}})

    def _forward(self, path: str, body: dict[str, Any]) -> None:
        config = self.router.config
        model = str(body.get("model", ""))
        if model not in {deployment.name for deployment in config.deployments}:
            hint = "Call `/v1/models` to view available models for your key."
            told = f"{path}: Invalid model name passed in model={model}. {hint}"
            self._error(400, told, "invalid_request_error")
            return
        timeout = config.stream_timeout if body.get("stream") else config.timeout
        trouble = f"No deployments available for selected model, Try again in {config.cooldown:g} seconds."
        for deployment in self.router.tries(model):
            try:
                answer = send(deployment, path, body, timeout)
                flows = bool(body.get("stream")) and answer.status == 200
                text = b"" if flows else whole(answer)
            except Unreachable as error:
                trouble = str(error)
                self.router.failed(deployment)
                continue
            others = any(one.name == model and one != deployment for one in config.deployments)
            if answer.status >= SERVER_ERROR or (answer.status == WRONG_KEY and others):
                trouble = text.decode(errors="replace")
                self.router.failed(deployment)
                continue
            deployment.failures = 0
            about = {"x_litellm_model_id": deployment.id, "x_litellm_version": VERSION}
            if flows:
                self.stream(self._flow(deployment, answer), **about)
            else:
                renamed = {"model": model} if answer.status == 200 else {}
                self.reply(answer.status, json.loads(text or b"{}") | renamed, **about)
            return
        told = f"litellm.InternalServerError: Hosted_vllmException - {trouble}. Received Model Group={model}"
        self._error(500, told, "None")

    def _flow(self, deployment: Deployment, answer: http.client.HTTPResponse) -> Iterator[bytes]:
        """The lines of a streamed answer; where it breaks off, an event that says so."""
        try:
            while line := answer.readline():
                yield line
        except (OSError, http.client.HTTPException) as error:
            self.router.failed(deployment)
            told = f"litellm.APIConnectionError: Hosted_vllmException - Response payload is not completed: {error!r}"
            yield event({"error": {"message": told, "type": None, "param": None, "code": "500"}})

    def _health(self) -> dict[str, Any]:
        healthy, unhealthy = [], []
        for deployment in self.router.config.deployments:
            row = {"api_base": deployment.base, "model": deployment.model, "model_id": deployment.id}
            body = {"messages": [{"role": "user", "content": "test"}], "max_tokens": 1}
            with (
                contextlib.suppress(Unreachable),
                send(deployment, "/chat/completions", body, HEALTH_PATIENCE) as answer,
            ):
                if answer.status == 200:
                    healthy.append(row)
                    continue
            unhealthy.append(row)
        return {
            "healthy_endpoints": healthy,
            "unhealthy_endpoints": unhealthy,
            "healthy_count": len(healthy),
            "unhealthy_count": len(unhealthy),
        }
