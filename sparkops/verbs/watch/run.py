"""`watch`: follow nodes and deployments until Ctrl-C."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

from sparkops.core.watch.alerts import Alert
from sparkops.core.watch.document import document
from sparkops.core.watch.picture import Picture
from sparkops.errors import Interrupted
from sparkops.remote.network import network
from sparkops.report.answer import Answer
from sparkops.report.report import Report
from sparkops.session.open import alone, opened, selected
from sparkops.session.session import Session
from sparkops.session.streams import Streams
from sparkops.verbs.watch.chart import BLOCKS, PLAIN
from sparkops.verbs.watch.options import WatchOptions
from sparkops.verbs.watch.watching import Watching

LOOK = 0.5
"""Seconds between two looks at what came."""

FIRST = 15.0
"""Seconds within which each node has told something, or counts as away."""


def watch(options: WatchOptions, report: Report) -> Answer:
    """Show pictures until interrupted; with `once` the first one that has all nodes."""
    with opened(alone(selected(options.where, report)), report) as session, _watching(session, options.every) as now:
        try:
            if options.once:
                return Answer(document(_first(session, now)))
            if _on_terminal():
                return _screen(now)
            return _told(session, now, report)
        except KeyboardInterrupt:
            return Answer({}, exit_code=Interrupted.exit_code)


@contextmanager
def _watching(session: Session, every: float) -> Iterator[Watching]:
    streams = Streams(session, session.names, every)
    try:
        yield Watching(session, streams)
    finally:
        streams.close()


def _on_terminal() -> bool:
    """Whether somebody sees what is drawn (Textual draws on stderr) and can press keys."""
    return bool(sys.stdin and sys.stdin.isatty() and sys.stdout.isatty() and sys.stderr.isatty())


def _screen(watching: Watching) -> Answer:
    from sparkops.verbs.watch.app import WatchScreen  # noqa: PLC0415  takes a third of a second

    def clock() -> str:
        return datetime.fromtimestamp(network().clock()).strftime("%H:%M:%S")

    glyphs = BLOCKS if "utf" in (sys.stdout.encoding or "").lower() else PLAIN
    screen = WatchScreen(watching.look, watching.log, clock, glyphs)
    screen.run()
    return Answer({}, exit_code=screen.return_code or 0)


def _first(session: Session, watching: Watching) -> Picture:
    """Two frames of each node, for what only two tell, or why there are none."""
    cancel, until = session.fleet.cancel(), session.fleet.now() + FIRST
    while True:
        picture = watching.look()
        if all(node.settled for node in picture.nodes.values()) or session.fleet.now() > until:
            return picture
        session.fleet.pause(LOOK, cancel)


def _told(session: Session, watching: Watching, report: Report) -> Answer:
    """A line for each alert that comes or goes."""
    known: dict[tuple[str, str, str], Alert] = {}
    while True:
        now = {alert.key: alert for alert in watching.look().alerts}
        for key, alert in now.items():
            if key not in known:
                report.line(alert.node or alert.deployment, f"{alert.id}: {alert.text}; {alert.next}")
        for key, alert in known.items():
            if key not in now:
                report.line(alert.node or alert.deployment, f"{alert.id} is over")
        known = now
        session.fleet.pause(LOOK, session.fleet.cancel())
