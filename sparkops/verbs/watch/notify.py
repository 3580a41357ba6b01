"""Tell others of alerts by HTTP or by a program, each in a thread of its own, so that a slow one delays nobody."""

import json
import queue
import subprocess
from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import partial

from tenacity import RetryError, Retrying, stop_after_attempt, wait_exponential

from sparkops.core.printable import printable_line
from sparkops.core.watch.alerts import Alert
from sparkops.core.watch.notice import Notice, QuietHours, document
from sparkops.core.watch.picture import Picture
from sparkops.core.watch.receiver import Receiver
from sparkops.core.watch.telling import Telling
from sparkops.remote import Cancel
from sparkops.remote.network import network
from sparkops.session.session import Session

LASTING = 15.0
"""Seconds that an alert lasts before somebody elsewhere is told, and is away before it is told to be over: nobody wants
a message for each time that a laptop sleeps or a link trains."""

TRIES = 5
SECONDS = 30.0
"""For one run of a program."""

WAITING = 100
"""Notices that wait for one that cannot be told; further ones are left out."""

NOT_TOLD = "not-told"

Target = Receiver | tuple[str, ...]
"""A URL, or the words of a command line that gets JSON on its standard input."""


class Notifier:
    """Tells each target once of what lasts, and once when it is over; in quiet hours nothing."""

    def __init__(self, session: Session, targets: Sequence[Target], quiet: QuietHours | None) -> None:
        self._session, self._quiet = session, quiet
        self._telling = Telling()
        self._queues = [queue.Queue[tuple[Notice, str]](WAITING) for _ in targets]
        self._failed: dict[str, str] = {}
        self._cancel = session.fleet.cancel()
        tasks = zip(targets, self._queues, strict=True)
        threads = {f"notify-{at}": partial(self._tell, *task) for at, task in enumerate(tasks)}
        session.fleet.beside(threads, self._cancel)

    def close(self) -> None:
        self._cancel.set()

    def hear(self, shown: Picture) -> None:
        now = datetime.fromtimestamp(network().clock()).astimezone()
        lasting = [
            one for one in shown.alerts if one.id != NOT_TOLD and shown.now - shown.since[one.key] >= LASTING
        ]  # fmt: skip
        quiet = self._quiet is not None and self._quiet.hold(now.time())
        self._telling, notices = self._telling.after(lasting, shown.now, LASTING, quiet)
        for notice in notices:
            for waiting in self._queues:
                if not waiting.full():
                    waiting.put((notice, now.isoformat("T", "seconds")))

    def trouble(self) -> Iterator[Alert]:
        for name, reason in tuple(self._failed.items()):
            yield Alert(NOT_TOLD, f"{name} was not told of an alert: {reason}", "see whether its address is right")

    def _tell(self, target: Target, waiting: "queue.Queue[tuple[Notice, str]]", cancel: Cancel) -> None:
        name = target.name if isinstance(target, Receiver) else target[0]
        again = Retrying(
            stop=stop_after_attempt(TRIES),
            wait=wait_exponential(max=30),
            sleep=lambda seconds: self._session.fleet.pause(seconds, cancel),
        )
        while not cancel.is_set():
            if waiting.empty():
                self._session.fleet.pause(0.5, cancel)
                continue
            notice, at = waiting.get()
            try:
                again(partial(_tell, target, notice, at))
                self._failed.pop(name, None)
            except RetryError as error:
                self._failed[name] = printable_line(str(error.last_attempt.exception()), 200)


def _tell(target: Target, notice: Notice, at: str) -> None:
    """Raises an error whose text has no secret."""
    if isinstance(target, Receiver):
        post = target.post(notice, at)
        network().post(post.url, post.body, post.headers)
        return
    try:
        told = json.dumps(document(notice, at)).encode()
        subprocess.run(target, input=told, timeout=SECONDS, check=True, stdout=subprocess.DEVNULL)
    except subprocess.CalledProcessError as error:
        raise OSError(f"exit code {error.returncode}") from None
    except subprocess.TimeoutExpired:
        raise OSError(f"it took longer than {SECONDS:.0f} s") from None
