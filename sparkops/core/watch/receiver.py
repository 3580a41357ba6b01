"""Who is told over HTTP, in the shape that they read."""

import base64
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, cast

from sparkops.core.printable import printable_line
from sparkops.core.watch.notice import LONGEST, Notice, document

Shape = Literal["json", "ntfy", "slack"]
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

    url: str = field(repr=False)
    shape: Shape = "json"
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def name(self) -> str:
        """Without path and query, which may be a secret."""
        scheme, _, rest = self.url.partition("://")
        return f"{scheme}://{re.split('[/?]', rest)[0]}"

    def post(self, notice: Notice, at: str) -> Post:
        """What to send of this notice at this time (ISO 8601)."""
        if self.shape == "ntfy":
            priority = "high" if notice.alert.grave and not notice.over else "default"
            headers = {"Title": _header(notice.title), "Priority": priority}
            return Post(self.url, {**self.headers, **headers}, notice.text.encode())
        slack = {"text": f"*{_slack(notice.title)}*\n{_slack(notice.text)}"}
        told = slack if self.shape == "slack" else document(notice, at)
        return Post(self.url, {**self.headers, "Content-Type": "application/json"}, json.dumps(told).encode())


_URL = re.compile(
    r"(?:(?P<shape>json|ntfy|slack)\+)?(?P<scheme>https?)://(?:(?P<name>[^\s/@:]*):(?P<secret>[^\s/@]+)@)?"
    r"(?P<place>(?P<host>\[[0-9a-f:.]+\]|[\w.-]+)(?::\d{1,5})?)(?P<path>(?:[/?][^\s#]*)?)",
    re.IGNORECASE | re.ASCII,
)


def receiver(url: str) -> Receiver:
    """Raises ValueError that says what is expected."""
    found = _URL.fullmatch(url)
    if found is None or not (url.isprintable() and url.isascii()):
        raise ValueError("a URL is such as https://HOST/PATH, ntfy+https://:TOKEN@HOST/TOPIC, slack+https://HOST/PATH")
    named, place = (found["shape"] or "").lower(), found["place"].lower()
    shape = cast(Shape, named) if named else HOSTS.get(found["host"].lower(), "json")
    headers = _credentials(_decoded(found["name"]), _decoded(found["secret"])) if found["secret"] else {}
    return Receiver(f"{found['scheme'].lower()}://{place}{found['path']}", shape, headers)


def _decoded(text: str) -> bytes:
    """Without the percent escapes of a URL."""
    return re.sub(rb"%([0-9a-fA-F]{2})", lambda found: bytes.fromhex(found[1].decode()), text.encode())


def _credentials(name: bytes, secret: bytes) -> dict[str, str]:
    """Of `https://NAME:PASSWORD@…`, or `https://:TOKEN@…`."""
    if name:
        return {"Authorization": f"Basic {base64.b64encode(name + b':' + secret).decode()}"}
    if not re.fullmatch(rb"[!-~]+", secret):
        raise ValueError("a token has only the printable characters of ASCII")
    return {"Authorization": f"Bearer {secret.decode()}"}


def _header(text: str) -> str:
    return printable_line(text, LONGEST).encode("ascii", "replace").decode()


def _slack(text: str) -> str:
    """Slack reads three characters as its own."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
