"""A stream of frames from each node, opened again when it ends. A node that is slow or hostile delays no other."""

import re
import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial

from sparkops.core.facts import HOW_IT_RUNS, WHAT_RUNS, Facts, known, parse
from sparkops.core.plan import NodeLost
from sparkops.core.situation import companions, deployed
from sparkops.core.watch.alerts import AWAY
from sparkops.core.watch.deployment import all_to_ask
from sparkops.core.watch.frame import WatchFrame, frame
from sparkops.core.watch.stream import BrokenStream, Frames
from sparkops.node_commands import scripts, watch
from sparkops.remote import Cancel
from sparkops.session.session import Session

AGAIN, SELDOM = 1.0, 10.0
"""Seconds before a stream that ended is opened again: the first time, and at most, after more and more failures."""

LOG_LINES, LONGEST_LINE = 500, 2000
"""Of a log that is shown as it grows: lines that are kept, and bytes of each."""

LOG_AGAIN = 5.0
"""Seconds after the end of a log until it is looked for again."""

UNSEEN = 30.0
"""Seconds between two frames of a node while nobody looks."""

MOST_BYTES, MOST_FRAMES = 1024 * 1024, 50
"""A node that sends more within one period of its frames is not listened to for a while."""

OUR_REQUEST = re.compile(rb'"GET /(health|metrics) HTTP/1\.[01]" 200')
"""Lines of an engine's log that somebody who watches it causes again and again."""

SHORT = 5
"""A stream of fewer frames is one more failure: the next one begins later."""


@dataclass
class News:
    """What came from the nodes since the last look. `facts` are read anew when the containers of a node change."""

    facts: dict[str, Facts] = field(default_factory=dict)
    frames: dict[str, WatchFrame] = field(default_factory=dict)
    lost: dict[str, str] = field(default_factory=dict)


class Streams:
    """One stream a node until `close`. Only the newest frame of a node is kept, so a flood fills no memory."""

    def __init__(self, session: Session, nodes: Iterable[str], every: float) -> None:
        self._session = session
        self._usual = self._every = every
        self._hurried = 0.0
        self._cancel = session.fleet.cancel()
        self._lock = threading.Lock()
        self._news = News()
        session.fleet.beside({node: partial(self._follow, node) for node in nodes}, self._cancel)

    def close(self) -> None:
        self._cancel.set()

    def seldom(self, holds: bool) -> None:
        """Whether the nodes tell less often, because nobody looks."""
        every = max(self._usual, UNSEEN) if holds else self._usual
        if every < self._every:
            self._hurried = self._session.fleet.now()
        self._every = every

    @property
    def patience(self) -> float:
        """Seconds without a frame after which a node is away."""
        just_hurried = self._session.fleet.now() - self._hurried < AWAY
        return max(AWAY, 3 * (UNSEEN if self._hurried and just_hurried else self._every))

    def news(self) -> News:
        with self._lock:
            told, self._news = self._news, News()
        return told

    def _tell(self, kind: str, node: str, value: object) -> None:
        with self._lock:
            if kind != "facts":
                (self._news.lost if kind == "frames" else self._news.frames).pop(node, None)
            getattr(self._news, kind)[node] = value

    def _follow(self, node: str, cancel: Cancel) -> None:
        wait = AGAIN
        while not cancel.is_set():
            stream = _Stream(self._session, node, lambda: self._every, partial(self._tell, node=node), cancel)
            try:
                problem = stream.run()
            except NodeLost as lost:
                problem = lost.reason
            except Exception as error:  # noqa: BLE001  whatever a node may send, the others are watched on
                problem = f"its stream cannot be read: {error}"
            wait = AGAIN if stream.frames >= SHORT else min(2 * wait, SELDOM)
            if problem:
                self._tell("lost", node, problem)
            self._session.fleet.pause(wait if problem else wait - AGAIN, cancel)


class _Stream:
    """One opening of a node's stream, and its own Cancel, which is set too when it is to begin anew: when containers
    of ours changed, or another time between two frames is wanted."""

    def __init__(
        self, session: Session, node: str, every: Callable[[], float], tell: Callable[..., None], cancel: Cancel
    ) -> None:
        self.frames = 0
        self._session, self._node, self._wanted, self._tell, self._cancel = session, node, every, tell, cancel
        self._every = every()
        self._parts = Frames()
        self._anew = False
        self._here: Mapping[str, str] = {}
        self._period, self._bytes, self._in_period = 0.0, 0, 0

    def is_set(self) -> bool:
        return self._anew or self._cancel.is_set() or self._wanted() != self._every

    def set(self) -> None:
        self._anew = True

    def run(self) -> str:
        """Follow until it is to begin anew (an empty text) or the node ends it: why."""
        session, node = self._session, self._node
        asked = session.facts_command(session.nodes[node], only=(*WHAT_RUNS, *HOW_IT_RUNS))
        facts = parse(session.send(node, asked, self._cancel).stdout)
        self._here = {one.id: one.state for one in facts.containers if one.ours}
        self._tell("facts", value=facts)
        here = [stored for _, stored, one in (*deployed({node: facts}), *companions({node: facts})) if one.runs]
        whole, one = session.behind_sudo(session.nodes[node]), session.nodes[node]
        sudo, cache = one.become == "sudo" and not whole, one.cache_dir or ""
        command = watch.watch(self._every, all_to_ask(here, node), sudo=sudo, become=whole, cache=cache)
        result = session.follow(node, command, self._take, self)
        return "" if self.is_set() else result.stderr.strip().rpartition("\n")[2] or "its stream ended"

    def _take(self, data: bytes) -> None:
        now = self._session.fleet.now()
        if now - self._period > self._every:
            self._period, self._bytes, self._in_period = now, 0, 0
        self._bytes += len(data)
        if self._bytes > MOST_BYTES:
            raise BrokenStream(f"more than {MOST_BYTES // 1024} KiB within {self._every:g} s")
        for text in self._parts.take(data):
            self._in_period += 1
            if self._in_period > MOST_FRAMES:
                raise BrokenStream(f"more than {MOST_FRAMES} frames within {self._every:g} s")
            found = frame(text)
            self.frames += 1
            self._tell("frames", value=found)
            ours = {one.id: one.state for one in known(found.seen, ()) if one.hash}
            if found.asked_docker and ours != self._here:
                self._anew = True


class LogTail:
    """The last lines of one container's log as it grows, until `close`."""

    def __init__(self, session: Session, node: str, container: str) -> None:
        self.about = (node, container)
        self._lines: deque[str] = deque(maxlen=LOG_LINES)
        self._rest = b""
        self._begins = True
        self._cancel = session.fleet.cancel()
        session.fleet.beside({f"{node} {container}": partial(self._follow, session)}, self._cancel)

    @property
    def lines(self) -> list[str]:
        return list(self._lines)

    def close(self) -> None:
        self._cancel.set()

    def _follow(self, session: Session, cancel: Cancel) -> None:
        node, container = self.about
        while not cancel.is_set():
            self._begins = True
            try:
                session.follow(node, scripts.follow(container, LOG_LINES), self._take, cancel)
                end = "(the log ends here)"
            except NodeLost as lost:
                end = f"({lost.reason})"
            if end not in list(self._lines)[-1:]:
                self._lines.append(end)
            session.fleet.pause(LOG_AGAIN, cancel)  # the container may start again

    def _take(self, data: bytes) -> None:
        if self._begins:
            self._begins = False
            self._lines.clear()
        *whole, rest = (self._rest + data).replace(b"\r", b"\n").split(b"\n")
        self._rest = rest[-LONGEST_LINE:]
        self._lines.extend(
            line.partition(b" ")[2][:LONGEST_LINE].decode(errors="replace")
            for line in whole
            if line and not OUR_REQUEST.search(line)
        )
