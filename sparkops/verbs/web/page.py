"""The page of `watch --web`: served in a thread of its own until the watch ends."""

import secrets
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn

from sparkops.core.watch.alerts import Alert
from sparkops.core.watch.door import Door
from sparkops.core.watch.picture import Picture
from sparkops.errors import UsageError
from sparkops.files import state
from sparkops.files.kept_day import KeptDay
from sparkops.remote.network import network
from sparkops.session.session import Session
from sparkops.verbs.watch.options import WebOptions
from sparkops.verbs.web.commands import PageCommands
from sparkops.verbs.web.history import PageHistory
from sparkops.verbs.web.hub import PageHub
from sparkops.verbs.web.logs import Logs
from sparkops.verbs.web.site import Site

GRACE = 2
"""Seconds that open streams have at the end."""


class Page:
    """Hears each picture."""

    def __init__(self, hub: PageHub, history: PageHistory, kept: KeptDay | None) -> None:
        self._hub, self._history, self._kept = hub, history, kept

    @property
    def looks(self) -> bool:
        """Whether somebody has it open."""
        return self._hub.clients > 0

    def hear(self, shown: Picture) -> None:
        self._hub.show(shown)
        self._history.add(shown, network().clock())

    def trouble(self) -> Iterator[Alert]:
        if self._kept and self._kept.problem:
            yield Alert("not-kept", self._kept.problem, f"free disk space for {state.folder('watch')}")


@contextmanager
def page(options: WebOptions, session: Session) -> Iterator[Page]:
    """Answers until the end. The link to open is said at once, and the next one when it was used."""
    listening = _listening(*options.listen)
    port = listening.getsockname()[1]
    origins = options.origins(port)
    kept = (
        KeptDay(state.folder("watch") / f"{state.of_inventory(session.inventory.source)}.sqlite")
        if options.keep
        else None
    )
    door = Door(frozenset(origins), secrets.token_urlsafe(32), f"sparkops-{port}")
    hub, history = PageHub(), PageHistory(kept)
    logs = Logs(session)

    def link(token: str) -> None:
        session.report.note(f"open {origins[0]}/?token={token} (once; then another link is printed)")

    commands = PageCommands(session.report.how.on_these, options.allow_changes)
    site = Site(door, hub, history, commands, logs.lines, link)
    config = uvicorn.Config(
        site.app, log_config=None, access_log=False, timeout_graceful_shutdown=GRACE, ssl_certfile=options.tls_cert,
        ssl_keyfile=options.tls_key, server_header=False, lifespan="off",
    )  # fmt: skip
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, name="sparkops-page", daemon=True)
    thread.start()
    if not options.is_local:
        session.report.warn("others can reach the page; it lets in whoever opens the link first")
    link(door.token)
    try:
        yield Page(hub, history, kept)
    finally:
        site.ended = server.should_exit = True
        thread.join(GRACE + 5)
        logs.close()
        if kept:
            kept.close()


def _listening(host: str, port: int) -> socket.socket:
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except (OSError, UnicodeError) as error:
        told = getattr(error, "strerror", None) or str(error)
        raise UsageError(f"cannot listen at {host}, port {port}: {told}", hint="give another --listen") from None
