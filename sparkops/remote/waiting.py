"""Poll a probe until it says ready: the stall limit restarts with progress, and a lost connection may come back."""

from collections.abc import Callable
from dataclasses import dataclass

from sparkops.core.plan import NodeLost, RebootWait, Result, Wait
from sparkops.remote import Cancel, World

RECONNECT = 300.0
"""Seconds that a wait goes on without its node (a laptop that slept, a switch that restarted)."""
RECONNECT_SPARED = 30.0
"""The same after the deadline, and for a node that the deployment does without: it serves already."""
LOG = "\nlog\n"
"""Separates evidence that counts as progress from lines that each probe itself adds to."""
TELL_SECONDS = 60.0
"""How often an unchanged wait says so."""
NO_ANSWER = "wait no answer yet"
"""What is told while the first probe takes long."""
GARBLED = 3
"""Unreadable answers in a row that end a wait: the probe itself is broken."""


@dataclass(frozen=True)
class Waited:
    """How a wait ended; `reason` is empty when it is ready. A node that stays lost is raised as NodeLost."""

    ready: bool
    reason: str = ""
    evidence: str = ""
    cancelled: bool = False
    result: Result | None = None


@dataclass(frozen=True)
class ProbeAnswer:
    """What one probe printed: `ready`, `wait` or `never` with its reason, and the evidence below."""

    word: str
    reason: str
    evidence: str


def answer(result: Result) -> ProbeAnswer:
    """The probe's answer: `garbled` without one of the three words, `wait` if the probe timed out (a busy node)."""
    if result.ended == "timeout":
        return ProbeAnswer("wait", "no answer in time", "")
    first, _, evidence = result.stdout.partition("\n")
    word, _, reason = first.strip().partition(" ")
    if word not in ("ready", "wait", "never"):
        told = (result.stderr or result.stdout).strip()
        return ProbeAnswer("garbled", f"the check ended with exit code {result.code}, but without an answer", told)
    return ProbeAnswer(word, reason.strip(), evidence.rstrip("\n"))


class _Reminder:
    """The wait's Cancel while a probe runs, which may take minutes: every look at it may tell that the wait goes on."""

    def __init__(self, cancel: Cancel, remind: Callable[[], None]) -> None:
        self._cancel, self._remind = cancel, remind
        self.set = cancel.set

    def is_set(self) -> bool:
        self._remind()
        return self._cancel.is_set()


class Waiting:
    """One wait on one node. `told` is called with the probe's output whenever it changed, and each minute.

    `spared` says whether the wait's result is known without this node.
    """

    def __init__(
        self,
        world: World,
        node: str,
        wait: Wait,
        told: Callable[[str], None],
        spared: Callable[[], bool] = lambda: False,
    ) -> None:
        self._world, self._node, self._wait, self._told, self._spared = world, node, wait, told, spared
        self._began = self._moved = self._told_at = world.now()
        self._lost_since: float | None = None
        self._seen = self._shown = self._progress = ""
        self._garbled = 0
        self._last: Result | None = None

    def until_ready(self, cancel: Cancel) -> Waited:
        """Raises NodeLost if the node stays lost for RECONNECT seconds, or cannot come back."""
        while not cancel.is_set():
            if ended := self._look(cancel):
                return ended
            self._world.pause(self._wait.every, cancel)
        return Waited(False, "cancelled", self._seen, cancelled=True)

    def _look(self, cancel: Cancel) -> Waited | None:
        try:
            result = self._world.send(self._node, self._wait.probe, _Reminder(cancel, self._remind))
        except NodeLost as lost:
            return self._away(lost)
        if self._lost_since is not None:
            self._lost_since, self._moved = None, self._world.now()
        if result.ended == "cancelled":
            return None
        self._last = result
        return self._judge(answer(result))

    def _judge(self, now: ProbeAnswer) -> Waited | None:
        self._notice(now)
        if now.word == "ready":
            return Waited(True, evidence=now.evidence, result=self._last)
        if now.word == "never":
            return self._never(now.reason or "it can never become ready", now.evidence)
        self._garbled = self._garbled + 1 if now.word == "garbled" else 0
        if self._garbled == GARBLED:
            return self._never(now.reason, now.evidence)
        return self._late(now)

    def _late(self, last: ProbeAnswer) -> Waited | None:
        now = self._world.now()
        why = f" ({last.reason})" if last.reason else ""
        if now - self._began >= self._wait.deadline:
            return self._never(f"not ready after {self._wait.deadline:.0f} s{why}", last.evidence)
        if now - self._moved >= self._wait.stall:
            return self._never(f"nothing changed for {self._wait.stall:.0f} s{why}", last.evidence)
        return None

    def _never(self, reason: str, evidence: str) -> Waited:
        return Waited(False, reason, evidence, result=self._last)

    def _notice(self, now: ProbeAnswer) -> None:
        shown = "\n".join(part for part in (f"{now.word} {now.reason}".strip(), now.evidence) if part)
        progress = f"\n{now.evidence}\n".partition(LOG)[0]
        if progress != self._progress:
            self._progress, self._moved = progress, self._world.now()
        self._seen = now.evidence
        self._tell(shown)

    def _remind(self) -> None:
        if self._world.now() - self._told_at >= TELL_SECONDS:
            self._tell(self._shown or NO_ANSWER)

    def _tell(self, text: str) -> None:
        now = self._world.now()
        if text != self._shown or now - self._told_at >= TELL_SECONDS:
            self._shown, self._told_at = text, now
            self._told(text)

    def _away(self, lost: NodeLost) -> Waited | None:
        now = self._world.now()
        late = now - self._began >= self._wait.deadline
        if isinstance(self._wait, RebootWait):
            if late:
                raise lost
            return None
        if not lost.heals:
            raise lost
        if self._lost_since is None:
            self._lost_since = now
        self._tell(f"lost contact while waiting ({lost.reason}), trying again")
        if now - self._lost_since >= (RECONNECT_SPARED if late or self._spared() else RECONNECT):
            raise lost
        return None
