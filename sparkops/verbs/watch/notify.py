"""Tell others of alerts by HTTP or by a program, each in a thread of its own, so that a slow one delays nobody."""

import json
import queue
import subprocess
from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import partial

from tenacity import RetryError, Retrying, wait_exponential

from sparkops.core.printable import last_lines, printable_line
from sparkops.core.watch.alerts import Alert
from sparkops.core.watch.notice import Notice, QuietHours, document
from sparkops.core.watch.picture import Picture
from sparkops.core.watch.receiver import Receiver
from sparkops.core.watch.telling import Telling
from sparkops.remote import Cancel
from sparkops.remote.network import network
from sparkops.session.program import end_with_all
from sparkops.session.session import Session

LASTING = 15.0
"""Seconds that an alert lasts before somebody elsewhere is told, and is away before it is told to be over: nobody wants
a message for each time that a laptop sleeps or a link trains."""

TRIES = 5
"""For a URL. A program is run once: it knows best what of it may be done again."""

SECONDS = 30.0
"""For a program."""

WAITING = 100
"""Notices that wait for one that cannot be told; further ones are left out."""

NOT_TOLD = "not-told"

Target = Receiver | tuple[str, ...]
"""A URL, or the words of a command line that gets JSON on its standard input."""

Waiting = queue.Queue[tuple[Notice, str]]


class Notifier:
    """Tells each target once of what lasts, and once when it is over; in quiet hours nothing."""

    looks = True

    def __init__(self, session: Session, targets: Sequence[Target], quiet: QuietHours | None) -> None:
        self._fleet, self._quiet = session.fleet, quiet
        self._telling = Telling()
        self._queues: list[Waiting] = [queue.Queue(WAITING) for _ in targets]
        self._failed: dict[int, str] = {}
        self._cancel = session.fleet.cancel()
        threads = {f"notify-{at}": partial(self._follow, at, target) for at, target in enumerate(targets)}
        session.fleet.beside(threads, self._cancel)

    def close(self) -> None:
        self._cancel.set()

    def hear(self, shown: Picture) -> None:
        now = datetime.fromtimestamp(network().clock()).astimezone()
        quiet = self._quiet is not None and self._quiet.hold(now.time())
        self._telling, notices = self._telling.after(shown, LASTING, quiet)
        for notice in notices:
            for at, waiting in enumerate(self._queues):
                try:
                    waiting.put_nowait((notice, now.isoformat("T", "seconds")))
                except queue.Full:
                    self._failed[at] = f"one of the targets takes too long: more than {WAITING} messages wait"

    def trouble(self) -> Iterator[Alert]:
        if failed := dict(self._failed):
            yield Alert(NOT_TOLD, "; ".join(failed.values()), "see whether the target of --notify is right")

    def _follow(self, at: int, target: Target, cancel: Cancel) -> None:
        name, tries = (target.name, TRIES) if isinstance(target, Receiver) else (target[0], 1)
        again = Retrying(
            stop=lambda state: cancel.is_set() or state.attempt_number >= tries,
            wait=wait_exponential(max=30),
            sleep=lambda seconds: self._fleet.pause(seconds, cancel),
        )
        while not cancel.is_set():
            if self._queues[at].empty():
                self._fleet.pause(0.5, cancel)
                continue
            notice, when = self._queues[at].get()
            try:
                again(_tell, target, notice, when)
                self._failed.pop(at, None)
            except RetryError as error:
                reason = printable_line(str(error.last_attempt.exception()), 200)
                self._failed[at] = f"{name} was not told of an alert: {reason}"


def _tell(target: Target, notice: Notice, at: str) -> None:
    """Raises an error whose text has no secret."""
    if isinstance(target, Receiver):
        post = target.post(notice, at)
        network().post(post.url, post.body, post.headers)
        return
    _run(target, json.dumps(document(notice, at)).encode())


def _run(words: Sequence[str], told: bytes) -> None:
    pipe, null = subprocess.PIPE, subprocess.DEVNULL
    try:
        process = subprocess.Popen(words, stdin=pipe, stdout=null, stderr=pipe, start_new_session=True)
    except OSError as error:
        raise OSError(error.strerror or type(error).__name__) from None
    with process:
        try:
            _, said = process.communicate(told, SECONDS)
        except subprocess.TimeoutExpired:
            end_with_all(process)
            raise OSError(f"it took longer than {SECONDS:.0f} s") from None
    if process.returncode != 0:
        raise OSError(f"exit code {process.returncode} {last_lines(said.decode('utf-8', 'replace'), 150)}".strip())
