"""Logs that the page shows: each is followed while somebody asks for it."""

import threading

from sparkops.session.session import Session
from sparkops.session.streams import LogTail

MOST = 4
"""Logs that are followed at once; the one that was asked for longest ago ends for a fifth."""

UNASKED = 30.0
"""Seconds after which nobody looks at a log any more."""


class Logs:
    """Asked by threads of the page; `end_unasked` is to be called now and then."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._lock = threading.Lock()
        self._tails: dict[tuple[str, str], tuple[float, LogTail]] = {}

    def lines(self, node: str, container: str) -> list[str]:
        """The last lines of a container that is known to run on a node of this watch."""
        now, about = self._session.fleet.now(), (node, container)
        with self._lock:
            known = about in self._tails
            tail = self._tails.pop(about)[1] if known else LogTail(self._session, node, container)
            self._tails[about] = now, tail  # the one that was asked for last stands last
        self.end_unasked()
        return tail.lines

    def close(self) -> None:
        with self._lock:
            for _, tail in self._tails.values():
                tail.close()
            self._tails.clear()

    def end_unasked(self) -> None:
        now = self._session.fleet.now()
        with self._lock:
            for about, (asked, tail) in list(self._tails.items()):
                if len(self._tails) > MOST or now - asked > UNASKED:
                    del self._tails[about]
                    tail.close()
