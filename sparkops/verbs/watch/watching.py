"""The picture of the fleet as it changes: what the streams tell, put together."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Protocol

from sparkops.core.facts import Facts
from sparkops.core.watch.alerts import Alert, of_finding
from sparkops.core.watch.node import WatchedNode, heard, lost
from sparkops.core.watch.picture import Picture, picture
from sparkops.files import fleets
from sparkops.phases.parts import DeployedRevision
from sparkops.session.find_deployment import current
from sparkops.session.find_gateway import companions_on
from sparkops.session.session import Session
from sparkops.session.streams import LogTail, Streams
from sparkops.verbs.status import warnings
from sparkops.verbs.status.fleet import drift

LOOK = 0.5
"""Seconds between two looks at what came."""


class PictureListener(Protocol):
    """Somebody elsewhere who is told what is seen; `looks`: now."""

    @property
    def looks(self) -> bool: ...

    def hear(self, shown: Picture) -> None: ...

    def trouble(self) -> Iterator[Alert]:
        """What keeps it from being told."""


class Watching:
    """Call `look` again and again, from one thread; `listeners` hear each picture."""

    def __init__(self, session: Session, streams: Streams, listeners: Sequence[PictureListener] = ()) -> None:
        self._session = session
        self._streams = streams
        self._listeners = listeners
        self._last: Picture | None = None
        now = session.fleet.now()
        self._nodes = {name: WatchedNode(name, since=now) for name in session.names}
        self._facts: dict[str, Facts] = {}
        self._here: Sequence[DeployedRevision] = ()
        self._of_nodes: dict[str, tuple[Alert, ...]] = {}
        self._of_fleet: tuple[Alert, ...] = ()
        self._written = fleets.written()
        self._tail: LogTail | None = None

    def look(self, seldom: bool = False) -> Picture:
        """The picture after all that came since the last look; with `seldom` nodes tell less often from now on, unless
        somebody else listens."""
        self._streams.seldom(seldom and not any(one.looks for one in self._listeners))
        now, news, written = self._session.fleet.now(), self._streams.news(), fleets.written()
        if news.facts or written != self._written:
            self._written = written
            self._facts |= news.facts
            names = self._session.names
            self._here = [*current(self._facts, names), *companions_on(self._facts, names)]
            self._of_fleet = tuple(map(of_finding, drift(self._here)))
        for name, facts in news.facts.items():
            self._nodes[name] = self._nodes[name].with_facts(facts)
        for name, frame in news.frames.items():
            self._nodes[name] = heard(self._nodes[name], frame, now)
            self._of_nodes[name] = tuple(map(of_finding, warnings.of_node(name, self._nodes[name].frame or frame, "")))
        for name, problem in news.lost.items():
            self._nodes[name] = lost(self._nodes[name], problem, now)
        stored = [one.stored for one in self._here]
        self._last = picture(now, dict(self._nodes), stored, self._found(), self._last, self._streams.patience)
        shown = replace(self._last, found=[replace(one, next=self.again(one.next)) for one in self._last.found])
        for one in self._listeners:
            one.hear(shown)
        return shown

    def again(self, text: str) -> str:
        """The text with commands that reach these nodes again."""
        return self._session.report.how.again(text)

    def log(self, opened: tuple[str, str] | None) -> list[str]:
        """The lines of the log that is open, if one is; it is followed until another thing is opened."""
        about = tuple(opened[1].split("/")) if opened and opened[0] == "log" else None
        if self._tail and self._tail.about != about:
            self._tail.close()
            self._tail = None
        if self._tail is None and about is not None and len(about) == 2:
            self._tail = LogTail(self._session, *about)
        return self._tail.lines if self._tail else []

    def _found(self) -> Iterator[Alert]:
        """What `status` warns of too: what needs no time to be seen."""
        live = {name: node.frame for name, node in self._nodes.items() if node.frame and not node.problem}
        yield from (alert for name in live for alert in self._of_nodes.get(name, ()))
        for one in self._here:
            if one.runs:
                yield from map(of_finding, warnings.of_schedule(one.stored, live))
        yield from self._of_fleet
        for listener in self._listeners:
            yield from listener.trouble()
