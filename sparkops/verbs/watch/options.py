"""Options of `watch`."""

from dataclasses import dataclass
from ipaddress import ip_address

from sparkops.core.endpoints import host_port
from sparkops.core.target import Target
from sparkops.core.watch.notice import QuietHours
from sparkops.core.watch.receiver import Receiver

DEFAULT_PORTS = {"http": 80, "https": 443}
"""Browsers leave them out of an origin."""


@dataclass(frozen=True)
class WebOptions:
    """The page: where it listens, the files of its TLS, or the address of the proxy that speaks TLS (`behind`).

    `keep`: charts of a day, kept on this disk. `allow_changes`: buttons that change deployments.
    """

    listen: tuple[str, int] = ("127.0.0.1", 8799)
    tls_cert: str | None = None
    tls_key: str | None = None
    behind: str | None = None
    keep: bool = False
    allow_changes: bool = False

    @property
    def is_local(self) -> bool:
        """Whether only this machine reaches it."""
        try:
            return ip_address(self.listen[0]).is_loopback
        except ValueError:
            return self.listen[0] == "localhost"

    def origins(self, port: int) -> list[str]:
        """Addresses of the page as a browser names them, the one to open first."""
        if self.behind:
            return [self.behind.rstrip("/").lower().removesuffix(":443")]
        scheme = "https" if self.tls_cert else "http"
        names = dict.fromkeys((_host(self.listen[0]), *(["localhost"] if self.is_local else [])))
        return [f"{scheme}://{host_port(one, None if port == DEFAULT_PORTS[scheme] else port)}" for one in names]


def _host(listen: str) -> str:
    """As a browser writes it: an IPv6 address is shortened."""
    try:
        return str(ip_address(listen))
    except ValueError:
        return listen.lower()


@dataclass(frozen=True)
class WatchOptions:
    """`every`: seconds between two frames of a node. `once`: show one picture and end.

    `metrics`: host and port at which a Prometheus may ask. `notify`: who is told of alerts, over HTTP or as the words
    of a command line, but not within `quiet_hours`.
    """

    where: Target
    every: float = 2.0
    once: bool = False
    metrics: tuple[str, int] | None = None
    notify: tuple[Receiver | tuple[str, ...], ...] = ()
    quiet_hours: QuietHours | None = None
    web: WebOptions | None = None
