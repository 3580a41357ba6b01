"""`logs --follow`: new lines of every container as they come, through restarts and lost connections, until Ctrl-C."""

from collections.abc import Callable, Mapping
from functools import partial

from sparkops.core.facts import Container
from sparkops.core.plan import NodeLost
from sparkops.errors import Interrupted
from sparkops.node_commands import scripts
from sparkops.phases.parts import DeployedRevision
from sparkops.remote import Cancel
from sparkops.remote.waiting import RECONNECT
from sparkops.report.answer import Answer
from sparkops.session.session import Session

AGAIN = 2.0
"""Seconds before an ended log is read again: its engine may be restarting."""


def follow(session: Session, revision: DeployedRevision, tail: int) -> Answer:
    """Follow until interrupted, or until no followed container runs."""
    tasks: Mapping[str, Callable[[Cancel], None]] = {
        f"{node} {container.name}": partial(_follow, session, node, container, _label(revision, node, container), tail)
        for node, container in revision.parts
    }
    try:
        session.fleet.each(tasks, session.fleet.cancel())
    except KeyboardInterrupt:
        return Answer({}, exit_code=Interrupted.exit_code)
    return Answer({})


def _label(revision: DeployedRevision, node: str, container: Container) -> str:
    """The node, and the role if the node has several containers."""
    several = sum(other == node for other, _ in revision.parts) > 1
    return f"{node} {container.role}" if several else node


def _follow(session: Session, node: str, container: Container, label: str, tail: int, cancel: Cancel) -> None:
    """Follow one container's log; lines shown before a lost connection are not repeated."""
    lines = LogLines(lambda text: session.report.line(label, text))
    fleet, lost_since, runs = session.fleet, None, True
    while runs and not cancel.is_set():
        command = scripts.follow(container.name, tail, lines.latest)
        try:
            result = session.follow(node, command, lines.take, cancel)
            runs, lost_since = result.ended != "cancelled" and _goes_on(session, node, container, cancel), None
        except NodeLost as lost:
            now = fleet.now()
            if lost_since is None:
                session.report.note(f"{lost.reason}; trying again", node)
            lost_since = now if lost_since is None else lost_since
            runs = lost.heals and now - lost_since < RECONNECT
        lines.again()
        if runs:
            fleet.pause(AGAIN, cancel)
    if not cancel.is_set():
        session.report.note(f"no longer following {container.name}", node)


def _goes_on(session: Session, node: str, container: Container, cancel: Cancel) -> bool:
    """Whether the container runs or Docker will restart it."""
    result = session.send(node, scripts.state(container.name), cancel)
    return result.stdout.strip() in ("running", "restarting", "paused")


class LogLines:
    """Lines with timestamps, received in pieces; `latest` is the newest timestamp."""

    def __init__(self, show: Callable[[str], None]) -> None:
        self.latest = ""
        self._show = show
        self._shown = ""
        self._rest = b""

    def take(self, data: bytes) -> None:
        *whole, self._rest = (self._rest + data).split(b"\n")
        for line in whole:
            self._line(line.decode(errors="replace"))

    def again(self) -> None:
        """Expect a new stream, which repeats lines from the newest timestamp."""
        self._shown, self._rest = self.latest, b""

    def _line(self, line: str) -> None:
        time, _, text = line.partition(" ")
        if time <= self._shown:
            return
        self.latest = max(self.latest, time)
        self._show(text.rstrip("\r").rpartition("\r")[2])
