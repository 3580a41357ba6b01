"""The standard streams of this process. A stream that fails ends no run: what is written to it later is dropped."""

import errno
import io
import os
import select
import sys
from typing import TextIO

from sparkops.errors import UsageError

GONE = (errno.EPIPE, errno.EIO)
"""The reader of the pipe has ended, the terminal was closed: nobody misses the rest."""


class Output(io.TextIOWrapper):
    """A stream to /dev/null after its first error; `failed` is that error, unless only the reader is gone."""

    failed = ""

    def write(self, text: str, /) -> int:
        try:
            return super().write(text)
        except OSError as error:
            self._drop(error)
            return len(text)

    def flush(self) -> None:
        try:
            super().flush()
        except OSError as error:
            self._drop(error)

    def _drop(self, error: OSError) -> None:
        if error.errno not in GONE:
            self.failed = (error.strerror or str(error)).lower()
        self.drop()

    def drop(self) -> None:
        """Send what is written now and later nowhere."""
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, self.fileno())
        os.close(null)


def secure() -> None:
    """Make stdout and stderr streams that never fail. Open closed ones, or the next connection gets their numbers."""
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(number)
    # Also the originals, which others may use: they are detached.
    sys.stdout, sys.stderr = _output(sys.stdout, 1), _output(sys.stderr, 2)
    sys.__stdout__, sys.__stderr__ = sys.stdout, sys.stderr  # type: ignore[misc, assignment]


def reader_is_gone() -> bool:
    """Whether nobody can read stdout any more, as after `| head`."""
    if not hasattr(select, "poll"):
        return False
    poll = select.poll()
    poll.register(sys.stdout.fileno(), 0)
    return bool(poll.poll(0))


def end_printing() -> None:
    """Print no more of an answer, even if its reader is slow."""
    if isinstance(sys.stdout, Output):
        sys.stdout.drop()


def verdict(code: int) -> int:
    """The exit code of the process: a command that did its work, but whose answer is lost, did not succeed."""
    sys.stdout.flush()
    failed = getattr(sys.stdout, "failed", "")
    if not failed or code:
        return code
    sys.stderr.write(f"error: the command did its work, but its output cannot be written: {failed}\n")
    return UsageError.exit_code


def _output(stream: TextIO | None, number: int) -> TextIO:
    """With a replacement for characters that the terminal cannot show."""
    if not isinstance(stream, io.TextIOWrapper):  # it was closed when this process started
        return Output(open(number, "wb"), "utf-8")  # noqa: SIM115  stays open until the process ends
    encoding, by_line = stream.encoding, stream.line_buffering
    return Output(stream.detach(), encoding, "replace", line_buffering=by_line)
