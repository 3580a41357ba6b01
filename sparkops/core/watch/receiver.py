"""Who is told over HTTP, in the shape that they read."""

import base64
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from sparkops.core.printable import printable_line
from sparkops.core.watch.notice import LONGEST, Notice, document

Shape = Literal["json", "ntfy", "slack"]
SHAPES: Mapping[str, Shape] = {"json": "json", "ntfy": "ntfy", "slack": "slack"}
HOSTS: Mapping[str, Shape] = {"ntfy.sh": "ntfy", "hooks.slack.com": "slack"}
"""Receivers that are known by their host; of others the scheme says it, as in `ntfy+https://`."""


@dataclass(frozen=True)
class Post:
    """One HTTP request."""

    url: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True)
class Receiver:
    """Who is told over HTTP: `shape` is how; `headers` have the password or token that stood in the URL."""

    url: str
    shape: Shape = "json"
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def name(self) -> str:
        """Without the path, which may be a secret."""
        return "/".join(self.url.split("/")[:3])

    def post(self, notice: Notice, at: str) -> Post:
        """What to send of this notice at this time (ISO 8601)."""
        if self.shape == "ntfy":
            headers = {"Title": _header(notice.title), "Priority": "high" if notice.alert.grave else "default"}
            return Post(self.url, {**self.headers, **headers}, notice.text.encode())
        slack = {"text": f"*{_slack(notice.title)}*\n{_slack(notice.text)}"}
        told = slack if self.shape == "slack" else document(notice, at)
        return Post(self.url, {**self.headers, "Content-Type": "application/json"}, json.dumps(told).encode())


_URL = re.compile(
    r"(?:(?P<shape>json|ntfy|slack)\+)?(?P<scheme>https?)://(?:(?P<name>[^\s/@:]*):(?P<secret>[^\s/@]*)@)?"
    r"(?P<place>(?P<host>\[[0-9a-fA-F:.]+\]|[\w.-]+)(?::\d{1,5})?)(?P<path>(?:[/?][^\s#]*)?)"
)


def receiver(url: str) -> Receiver:
    """Raises ValueError that says what is expected."""
    found = _URL.fullmatch(url)
    if found is None or not url.isprintable():
        raise ValueError("a URL is such as https://HOST/PATH, ntfy+https://:TOKEN@HOST/TOPIC, slack+https://HOST/PATH")
    shape = SHAPES.get(found["shape"] or "") or HOSTS.get(found["host"], "json")
    headers = _credentials(_decoded(found["name"]), _decoded(found["secret"])) if found["secret"] else {}
    return Receiver(f"{found['scheme']}://{found['place']}{found['path']}", shape, headers)


def _decoded(text: str) -> str:
    """Without the percent escapes of a URL."""
    return re.sub("%([0-9a-fA-F]{2})", lambda found: chr(int(found[1], 16)), text)


def _credentials(name: str, secret: str) -> dict[str, str]:
    """Of `https://NAME:PASSWORD@…`, or `https://:TOKEN@…`."""
    basic = base64.b64encode(f"{name}:{secret}".encode()).decode()
    return {"Authorization": f"Basic {basic}" if name else f"Bearer {_header(secret)}"}


def _header(text: str) -> str:
    return printable_line(text, LONGEST).encode("ascii", "replace").decode()


def _slack(text: str) -> str:
    """Slack reads three characters as its own."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
