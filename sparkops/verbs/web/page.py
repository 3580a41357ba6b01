"""The page of `watch --web`: served in a thread of its own until the watch ends."""

import errno
import os
import secrets
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager

import uvicorn

from sparkops.core.printable import printable_line
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

    def __init__(self, hub: PageHub, history: PageHistory, logs: Logs, kept: KeptDay | None) -> None:
        self._hub, self._history, self._logs, self._kept = hub, history, logs, kept

    @property
    def looks(self) -> bool:
        """Whether somebody has it open."""
        return self._hub.clients > 0

    def hear(self, shown: Picture) -> None:
        self._hub.show(shown)
        self._history.add(shown, network().clock())
        self._logs.end_unasked()

    def trouble(self) -> Iterator[Alert]:
        if self._kept and self._kept.problem:
            yield Alert("not-kept", self._kept.problem, f"see the disk and the files in {state.folder('watch')}")


@contextmanager
def page(options: WebOptions, session: Session, sudo_password: str | None) -> Iterator[Page]:
    """Answers until the end. The link to open is said at once, and the next one when it was used."""
    report = session.report
    with ExitStack() as stack:
        _check(options)
        listening = stack.enter_context(listening_at(*options.listen))
        port = listening.getsockname()[1]
        origins = options.origins(port)
        kept = stack.enter_context(closing(_kept(session))) if options.keep else None
        hub, history, logs = PageHub(), PageHistory(kept), stack.enter_context(closing(Logs(session)))
        secret = {"SPARKOPS_BECOME_PASSWORD": sudo_password} if sudo_password else {}
        commands = PageCommands(report.how.on_these, options.allow_changes, secret)
        door = Door(frozenset(origins), secrets.token_urlsafe(32), f"sparkops-{port}")

        def link(token: str) -> None:
            report.note(f"open {origins[0]}/?token={token} (once; then another link is printed)")

        def failed(problem: str) -> None:
            report.warn(f"a bug in sparkops, in its page: {printable_line(problem, 300)}")

        stack.enter_context(served(Site(door, hub, history, commands, logs.lines, link, failed), listening, options))
        if options.behind or not options.is_local:
            report.warn("others can reach the page; it lets in whoever opens the link first")
        link(door.token)
        stack.callback(commands.wait, report.note)
        yield Page(hub, history, logs, kept)


@contextmanager
def served(site: Site, listening: socket.socket, options: WebOptions) -> Iterator[None]:
    """What goes wrong in a request is said by the site; uvicorn itself says nothing."""
    config = uvicorn.Config(
        site.app, log_config=None, log_level="critical", access_log=False, timeout_graceful_shutdown=GRACE, ws="none",
        ssl_certfile=options.tls_cert, ssl_keyfile=options.tls_key, server_header=False, lifespan="off",
    )  # fmt: skip
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, name="sparkops-page", daemon=True)
    thread.start()
    try:
        yield
    finally:
        site.ended = server.should_exit = True
        thread.join(GRACE + 5)


def listening_at(host: str, port: int) -> socket.socket:
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except (OSError, UnicodeError) as error:
        number = getattr(error, "errno", 0)
        told = os.strerror(number) if number in errno.errorcode else str(error)
        raise UsageError(f"cannot listen at {host}, port {port}: {told}", hint="give another --listen") from None


def _check(options: WebOptions) -> None:
    """Raises UsageError for files that cannot be used for TLS; a key must have no passphrase, as nobody is asked."""
    if options.tls_cert is None:
        return
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(options.tls_cert, options.tls_key, password="")
    except OSError as error:  # ssl.SSLError is one
        told = error.strerror or str(error)
        raise UsageError(
            f"{options.tls_cert} and {options.tls_key} cannot be used for TLS: {told}",
            hint="--tls-cert takes the certificate, --tls-key its private key without a passphrase, both as PEM",
        ) from None


def _kept(session: Session) -> KeptDay:
    return KeptDay(state.folder("watch") / f"{state.of_inventory(session.inventory.source)}.sqlite")
