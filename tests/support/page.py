"""The page of `watch --web` without nodes: pictures that a test makes, served as `watch` serves them."""

import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import uvicorn

from sparkops.core.watch.door import Door
from sparkops.core.watch.picture import Picture
from sparkops.verbs.web import page as product
from sparkops.verbs.web.commands import PageCommands
from sparkops.verbs.web.history import PageHistory
from sparkops.verbs.web.hub import PageHub
from sparkops.verbs.web.site import Site


@dataclass
class Served:
    """`links` are those that were said, the newest last."""

    port: int
    hub: PageHub = field(default_factory=PageHub)
    history: PageHistory = field(default_factory=PageHistory)
    links: list[str] = field(default_factory=list)
    log: list[str] = field(default_factory=list)

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def link(self) -> str:
        return f"{self.origin}/?token={self.links[-1]}"

    def show(self, shown: Picture, clock: float = 1.7e9) -> None:
        self.hub.show(shown)
        self.history.add(shown, clock)


@contextmanager
def served(changes: bool = False, every: float = 0.05) -> Iterator[Served]:
    listening = product._listening("127.0.0.1", 0)
    made = Served(listening.getsockname()[1], links=[secrets.token_urlsafe(8)])
    door = Door(frozenset([made.origin]), made.links[0])
    site = Site(
        door, made.hub, made.history, PageCommands("sparkops", changes), lambda *_: made.log, made.links.append, every
    )
    config = uvicorn.Config(site.app, log_config=None, timeout_graceful_shutdown=1, lifespan="off")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    yield made
    site.ended = server.should_exit = True
    thread.join(10)
