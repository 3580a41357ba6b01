"""Who may ask the page: whoever opened the link with its token once, from the page's own origin. Pure."""

import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Verdict = Literal["open", "enter", "refuse"]


@dataclass(frozen=True)
class Asked:
    """One request. Names of `headers` are in lower case; `token` is that of its URL, empty without."""

    method: str
    path: str
    headers: Mapping[str, str]
    token: str = ""
    cookie: str = ""


@dataclass
class Door:
    """`origins` are the page's own, such as `http://127.0.0.1:8799`; `token` opens once, then another one is made.

    `cookie` is the name of the page's cookie: another one for each port, as a browser keeps one jar for all of them.
    """

    origins: frozenset[str]
    token: str
    cookie: str = "sparkops"
    sessions: set[str] = field(default_factory=set)

    def verdict(self, asked: Asked) -> Verdict:
        """`enter` exchanges the token for a session; `open` lets a session in."""
        if not self._own(asked):
            return "refuse"
        if asked.token:
            fits = asked.method == "GET" and asked.path == "/" and _same(asked.token, self.token)
            return "enter" if fits else "refuse"
        return "open" if any(_same(asked.cookie, one) for one in self.sessions) else "refuse"

    def entered(self, session: str, token: str) -> None:
        """Another session, and the next token: the one that was used opens nothing any more."""
        self.sessions.add(session)
        self.token = token

    def _own(self, asked: Asked) -> bool:
        """Whether the request was made for this page (a foreign name may resolve to it), and not by another one."""
        hosts = {origin.partition("://")[2] for origin in self.origins}
        if asked.headers.get("host", "").lower() not in hosts:
            return False
        origin = asked.headers.get("origin")
        if asked.method not in ("GET", "HEAD") and origin is None:
            return False
        if origin is not None and origin.lower() not in self.origins:
            return False
        return asked.headers.get("sec-fetch-site", "none") in ("none", "same-origin") or asked.path == "/"


def _same(given: str, secret: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "replace"), secret.encode())
