"""The page of `watch --web` without nodes: pictures that a test makes, served as `watch` serves them."""

import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from sparkops.core.watch.door import Door
from sparkops.core.watch.picture import Picture
from sparkops.verbs.watch.options import WebOptions
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
    failed: list[str] = field(default_factory=list)

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def link(self) -> str:
        return f"{self.origin}/?token={self.links[-1]}"

    def show(self, shown: Picture, clock: float | None = None) -> None:
        self.hub.show(shown)
        self.history.add(shown, clock or time.time())


@contextmanager
def served(changes: bool = False, every: float = 0.05) -> Iterator[Served]:
    with product.listening_at("127.0.0.1", 0) as listening:
        made = Served(listening.getsockname()[1], links=[secrets.token_urlsafe(8)])
        door, commands = Door(frozenset([made.origin]), made.links[0]), PageCommands("sparkops", changes)
        said = made.links.append, made.failed.append
        site = Site(door, made.hub, made.history, commands, lambda *_: made.log, *said, every)
        with product.served(site, listening, WebOptions()):
            yield made
    assert made.failed == []
