"""How this machine reaches nodes and endpoints: SSH, HTTP and the clock; or a simulated world instead of them."""

import http.client
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Generic, Protocol, TypeVar

from sparkops.core.inventory import Node
from sparkops.core.plan import Command, Result
from sparkops.remote import Cancel, World
from sparkops.remote.channel import Sink
from sparkops.remote.fleet import Fleet
from sparkops.remote.lock import Owner
from sparkops.remote.ssh import Connector, Options
from sparkops.remote.trust import SeenHostKey

SECONDS = 10
T = TypeVar("T")


class Reach(World, Protocol):
    """A world whose nodes can be locked: the fleet, or `sparkops.testing`'s simulated one."""

    def lock(self, owner: Owner, nodes: Iterable[str] | None = None) -> None: ...

    def note(self, line: str, nodes: Iterable[str]) -> None: ...

    def unlock(self) -> None: ...

    def follow(self, node: str, command: Command, sink: Sink, cancel: Cancel, hear: Sink | None = None) -> Result: ...

    def beside(self, tasks: Mapping[str, Callable[[Cancel], None]], cancel: Cancel) -> None: ...


class Network(Protocol):
    """All ways out of this machine."""

    def fleet(self, nodes: Iterable[Node], options: Options) -> AbstractContextManager[Reach]:
        """Connections to these nodes, made when they are first used."""

    def host_keys(self, options: Options) -> Callable[[Node], SeenHostKey]:
        """A function that returns the host key that a node shows before a login, or raises Unreached."""

    def get(self, url: str, key: str | None = None) -> str:
        """The body of an answer with status 200; raises OSError that says why there is none."""

    def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> None:
        """Send this to somebody else's server; raises OSError that says why it was not taken."""

    def clock(self) -> float:
        """Seconds since 1970."""


class Real:
    """SSH and HTTP. Proxy variables are ignored for `get`: the nodes are on the local network."""

    def fleet(self, nodes: Iterable[Node], options: Options) -> Fleet:
        return Fleet(nodes, options)

    def host_keys(self, options: Options) -> Callable[[Node], SeenHostKey]:
        return Connector(options).shown_by

    def get(self, url: str, key: str | None = None) -> str:
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with _opened(opener, urllib.request.Request(url, headers=headers)) as answer:
            return str(answer.read().decode("utf-8", "replace"))

    def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> None:
        request = urllib.request.Request(url, body, {"User-Agent": "sparkops", **headers}, method="POST")
        with _opened(urllib.request.build_opener(_NoRedirect), request):
            pass  # its status says enough

    def clock(self) -> float:
        return time.time()


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """To be redirected is an error: a POST would become a GET, and headers would reach somebody else."""

    def redirect_request(self, *_: object) -> None:
        return None


@contextmanager
def _opened(opener: urllib.request.OpenerDirector, request: urllib.request.Request) -> Iterator[Any]:
    """The answer, if its status says that all went well."""
    try:
        with opener.open(request, timeout=SECONDS) as answer:
            yield answer
    except urllib.error.HTTPError as error:
        raise OSError(f"HTTP {error.code}") from error
    except urllib.error.URLError as error:
        raise OSError(str(error.reason)) from error
    except http.client.HTTPException as error:
        raise OSError(str(error) or type(error).__name__) from error


class Replaceable(Generic[T]):
    """A way out of this process: call it for the one in use."""

    def __init__(self, real: T) -> None:
        self._in_use = real

    def __call__(self) -> T:
        return self._in_use

    @contextmanager
    def replaced(self, other: T) -> Iterator[None]:
        """Inside, all threads use `other` instead of the real one."""
        before, self._in_use = self._in_use, other
        try:
            yield
        finally:
            self._in_use = before


network = Replaceable[Network](Real())
