"""The OpenAI API behind the emulated Open WebUI: it lists the models and answers the chats."""

import http.client
import json
import os
from datetime import datetime
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from sparklab import files
from sparklab.engine import log
from sparklab.engine.webui_users import inside, switched
from sparklab.layout import here

OPENAI = "https://api.openai.com/v1"
LIST_PATIENCE = 10.0
CHAT_PATIENCE = 300.0


class Unreachable(Exception):
    """The API could not be asked."""


class Answer(NamedTuple):
    status: int
    kind: str
    text: str


class Endpoint:
    """Its URL and key. Those of the first start stay in force, unless ENABLE_PERSISTENT_CONFIG is false."""

    def __init__(self) -> None:
        url = os.environ.get("OPENAI_API_BASE_URL") or OPENAI
        given = {"url": url.removesuffix("/"), "key": os.environ.get("OPENAI_API_KEY", "")}
        if switched("ENABLE_PERSISTENT_CONFIG", usual=True):
            given |= files.read_json(inside("data/config.json")) or {}
            files.write_json(inside("data/config.json"), given, 0o600)
        self.url, self.key = _from_the_node(given["url"]), given["key"]

    def models(self) -> list[dict[str, Any]]:
        """The models as Open WebUI shows them; none if the API does not list them."""
        try:
            answer = self._ask("/models", None, LIST_PATIENCE)
            if answer.status != http.client.OK:
                raise Unreachable(f"{answer.status}, message={answer.text[:200]!r}, url='{self.url}/models'")
            listed = json.loads(answer.text)["data"]
            added = {"owned_by": "openai", "connection_type": "external", "urlIdx": 0, "tags": []}
            return [one | {"name": one["id"], "openai": one} | added for one in listed]
        except (Unreachable, ValueError, KeyError, TypeError) as error:
            say("ERROR", "routers.openai:send_get_request", f"Connection error: {error}")
            return []

    def chat(self, body: dict[str, Any]) -> Answer:
        return self._ask("/chat/completions", body, CHAT_PATIENCE)

    def _ask(self, path: str, body: dict[str, Any] | None, patience: float) -> Answer:
        url = urlsplit(self.url)
        if url.scheme != "http":  # a lab has no internet
            raise Unreachable(f"Cannot connect to host {url.hostname}:{url.port or 443} ssl:default")
        method, text = ("GET", None) if body is None else ("POST", json.dumps(body))
        headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {self.key}"} if self.key else {})}
        link = http.client.HTTPConnection(url.hostname or "", url.port or 80, timeout=patience)
        try:
            link.request(method, url.path + path, text, headers)
            answer = link.getresponse()
            kind = answer.getheader("Content-Type") or "application/json"
            return Answer(answer.status, kind, answer.read().decode(errors="replace"))
        except (OSError, http.client.HTTPException) as error:
            raise Unreachable(f"Cannot connect to host {url.hostname}:{url.port} ssl:default [{error}]") from error
        finally:
            link.close()


def say(level: str, where: str, text: str) -> None:
    """A line as Open WebUI's logger writes it."""
    log.write(f"{datetime.now().isoformat(' ', 'milliseconds')} | {level:<8} | open_webui.{where} - {text}")


def _from_the_node(url: str) -> str:
    """On an emulated node, its loopback is not this machine's."""
    parts = urlsplit(url)
    if parts.hostname not in ("127.0.0.1", "localhost"):
        return url
    return parts._replace(netloc=f"{here().loopback}:{parts.port or 80}").geturl()
