"""`watch`: follow nodes and deployments until Ctrl-C."""

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from datetime import datetime

from sparkops.core.endpoints import host_port
from sparkops.core.plan import NodeLost
from sparkops.core.watch.document import document
from sparkops.core.watch.telling import Telling
from sparkops.errors import Interrupted
from sparkops.remote.network import network
from sparkops.report.answer import Answer
from sparkops.report.report import Report
from sparkops.report.streams import reader_is_gone
from sparkops.session.away import AwayNodes
from sparkops.session.open import alone, opened, selected
from sparkops.session.session import Session
from sparkops.session.streams import Streams
from sparkops.verbs.watch.chart import BLOCKS, PLAIN
from sparkops.verbs.watch.options import WatchOptions
from sparkops.verbs.watch.watching import LOOK, PictureListener, Watching

OFTEN = 2.0
"""Seconds between the two frames of `--once`."""

FIRST = 30.0
"""Seconds within which each node has told something, or counts as away."""


def watch(options: WatchOptions, report: Report) -> Answer:
    """Show pictures until interrupted; with `once` the first one that has all nodes."""
    with opened(alone(selected(options.where, report)), report) as session, _watching(session, options) as now:
        try:
            if options.once:
                return _once(session, now)
            if _on_terminal() and options.web is None:
                return _screen(now)
            return _told(session, now, options, report)
        except KeyboardInterrupt:
            return Answer({}, exit_code=Interrupted.exit_code)


@contextmanager
def _watching(session: Session, options: WatchOptions) -> Iterator[Watching]:
    with ExitStack() as stack:
        listeners = [*_listeners(session, options, stack)]  # an address that is in use is said before a node is asked
        every = OFTEN if options.once else options.every
        streams = stack.enter_context(closing(Streams(session, session.names, every)))
        yield Watching(session, streams, listeners)


def _listeners(session: Session, options: WatchOptions, stack: ExitStack) -> Iterator[PictureListener]:
    if options.metrics:
        from sparkops.verbs.watch.exporter import exporter  # noqa: PLC0415  imports a server

        yield stack.enter_context(exporter(*options.metrics))
        session.report.note(f"metrics: http://{host_port(*options.metrics)}/metrics")
    if options.web:
        from sparkops.verbs.web.page import page  # noqa: PLC0415  imports a server

        yield stack.enter_context(page(options.web, session, options.where.become_password))
    if options.notify and not options.once:
        from sparkops.verbs.watch.notify import Notifier  # noqa: PLC0415

        yield stack.enter_context(closing(Notifier(session, options.notify, options.quiet_hours)))


def _on_terminal() -> bool:
    """Whether somebody sees what is drawn (Textual draws on stderr) and can press keys."""
    all_are = bool(sys.stdin and sys.stdin.isatty() and sys.stdout.isatty() and sys.stderr.isatty())
    return all_are and os.environ.get("TERM") != "dumb"


def _screen(watching: Watching) -> Answer:
    from sparkops.verbs.watch.app import WatchScreen  # noqa: PLC0415  takes a third of a second

    def clock() -> str:
        return datetime.fromtimestamp(network().clock()).strftime("%H:%M:%S")

    glyphs = BLOCKS if "utf" in (sys.stdout.encoding or "").lower() else PLAIN
    screen = WatchScreen(watching, clock, glyphs)
    screen.run()
    return Answer({}, exit_code=screen.return_code or 0)


def _once(session: Session, watching: Watching) -> Answer:
    """Two frames of each node, for what only two tell, or why there are none."""
    cancel, until = session.fleet.cancel(), session.fleet.now() + FIRST
    while True:
        shown, now = watching.look(), session.fleet.now()
        if all(node.settled(now) for node in shown.nodes.values()) or now > until:
            break
        session.fleet.pause(LOOK, cancel)
    problems = {name: node.problem for name, node in shown.nodes.items() if node.problem}
    away = AwayNodes({name: NodeLost(name, problem, sent=False) for name, problem in problems.items()})
    return Answer({**document(shown), "unreachable": away.reasons}, error=away.error)


def _told(session: Session, watching: Watching, options: WatchOptions, report: Report) -> Answer:
    """A line for each alert that comes or goes, until nobody reads them."""
    count = len(session.names)
    report.note(
        f"watching {count} node{'s' if count != 1 else ''}; a line follows when something goes wrong or is over"
    )
    telling = Telling()
    while not reader_is_gone():
        shown = watching.look(seldom=options.web is not None)
        telling, notices = telling.after(shown)
        for notice in notices:
            when = datetime.fromtimestamp(network().clock()).isoformat(" ", "seconds")
            report.line(f"{when} {notice.where} {notice.alert.id}", notice.text)
        session.fleet.pause(LOOK, session.fleet.cancel())
    return Answer({})
