"""How every run ends: the answer or the error, as text or as one JSON document. Imports little.

Questions, progress and errors go to stderr; stdout carries the answer alone.
"""

import json
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TextIO

from sparkops.core.printable import all_printable, printable
from sparkops.errors import BUG, Locked, Refused, SparkopsError, UsageError
from sparkops.report.answer import Answer
from sparkops.report.text import How, Ink

if TYPE_CHECKING:
    from sparkops.report.runlog import RunLog

SCHEMA = 1
"""Version of the JSON documents."""

LOOKED = (0, UsageError.exit_code, Refused.exit_code)
"""Exit codes of errors that start no log of their own."""

Show = Callable[[Mapping[str, Any], Ink, How], Iterator[str]]
"""Turns the document of one verb into lines of text."""


class Ending:
    """One run with the id `run`; verbs that reach nodes have a log. `show` returns the `Show` of a verb."""

    def __init__(
        self,
        verb: str,
        *,
        run: str = "run",
        as_json: bool = False,
        how: How | None = None,
        show: Callable[[str], Show] | None = None,
        log: "RunLog | None" = None,
        out: TextIO | None = None,
        err: TextIO | None = None,
        ink: tuple[Ink, Ink] = (Ink(), Ink()),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.verb = verb
        self.run = run
        self.done: str | None = None
        """What this run has done already, for the error if it is interrupted now."""
        self.how = how or How()
        self._show = show
        self._on_leave: Callable[[Answer | None], None] | None = None
        self._json = as_json
        self._log = log
        self._out = out or sys.stdout
        self._err = err or sys.stderr
        self._out_ink, self._err_ink = ink
        self._clock = clock
        self._begun = clock()

    @property
    def run_log(self) -> str | None:
        return str(self._log.path) if self._log and self._log.path else None

    @property
    def seconds(self) -> float:
        """Seconds since the run began, to a tenth."""
        return round(self._clock() - self._begun, 1)

    def hide(self, *secrets: str | None) -> None:
        """Keep these values out of all text in the run log."""
        if self._log:
            self._log.hide([secret for secret in secrets if secret])

    def masked(self, text: str) -> str:
        """The text with `***` in the place of what is hidden."""
        return self._log.masked(text) if self._log else text

    def on_leave(self, do: Callable[[Answer | None], None]) -> None:
        """Call this once with the answer when the run ends, before it is shown; with None if the run goes on."""
        self._on_leave = do

    def leave(self, answer: Answer | None = None) -> None:
        do, self._on_leave = self._on_leave, None
        if do is not None:
            do(answer)

    def lines(self, verb: str, document: Mapping[str, Any], ink: Ink) -> Iterable[str]:
        """The document of a verb as lines of text, whose only control characters are those of `ink`; or as JSON."""
        if self._show is None:
            return [_json(document)]
        return self._show(verb)(all_printable(document), ink, self.how)

    def finish(self, answer: Answer) -> int:
        """Print the last output of the run; returns the exit code."""
        code = answer.code
        self.leave(answer)
        error = {"error": self._error_document(answer.error)} if answer.error else {}
        if self._log and (self._log.path or (answer.error and code not in LOOKED)):
            self._log.write("end", exit_code=code, **error)
        body = {"seconds": self.seconds, **answer.document}
        if self._json:
            head = {"schema": SCHEMA, "command": self.verb, "ok": code == 0, "exit_code": code, "run_log": self.run_log}
            advised = self._advised({**body, **error})
            self._write(self._out, [_json({**head, **advised})])
        elif answer.document:
            self._write(self._out, self.lines(self.verb, self._advised(body), self._out_ink))
        if answer.error:
            self._write(self._err, map(self.how.again, self._last_words(_printable(answer.error))))
        if self._log:
            self._write(self._err, [printable(f"log: {self.run_log}")] if code and self.run_log else [])
        self.close()
        return code

    def close(self) -> None:
        """Leave the nodes and close the run log, however the run ends."""
        self.leave()
        if self._log:
            self._log.close()

    def show(self, document: Mapping[str, Any], *, anew: bool = False) -> None:
        """Print an answer that is not the last one; with `anew`, clear the terminal first."""
        if not self._json:
            clear = ["\x1b[H\x1b[J"] if anew and self._out.isatty() else []
            self._write(self._out, [*clear, *self.lines(self.verb, self._advised(document), self._out_ink)])

    def fail(self, error: SparkopsError) -> int:
        return self.finish(Answer({}, error=error))

    def bug(self, error: BaseException) -> int:
        """Report a bug: the traceback goes to the log, which the user is asked to send."""
        text = "".join(traceback.format_exception(error))
        if self._log:
            self._log.write("bug", traceback=text)  # the first entry opens the file
        else:
            self._write(self._err, [printable(text)])
        where = f"report it to the authors of sparkops, and attach {self.run_log or 'the lines above'}"
        failure = SparkopsError(f"a bug in sparkops: {type(error).__name__}: {error}", hint=where)
        return self.finish(Answer({}, exit_code=BUG, error=failure))

    def _advised(self, value: Any) -> Any:
        """The document with hints that name this run's options."""
        if isinstance(value, Mapping):
            hints = {key for key, item in value.items() if key in ("hint", "next") and isinstance(item, str)}
            return {key: (self.how.again if key in hints else self._advised)(item) for key, item in value.items()}
        return [self._advised(item) for item in value] if isinstance(value, list | tuple) else value

    def _error_document(self, error: SparkopsError) -> dict[str, Any]:
        known = {key: getattr(error, key) for key in ("kind", "message", "node", "step", "hint")}
        known |= {"rolled_back": error.rolled_back} if error.rolled_back else {}
        return known | ({"holder": error.holder} if isinstance(error, Locked) else {})

    def _last_words(self, error: SparkopsError) -> Iterator[str]:
        yield f"{self._err_ink.bad('error:')} {error.message}"
        yield from [error.rolled_back] if error.rolled_back else []
        if error.hint:
            yield f"{self._err_ink.bold('next:')} {error.hint}"

    def _write(self, stream: TextIO, lines: Iterable[str]) -> None:
        for line in lines:
            stream.write(line + "\n")
        stream.flush()


def _json(document: Mapping[str, Any]) -> str:
    """JSON that a terminal shows as it is: its only unsafe character, DEL, is also written as an escape."""
    return json.dumps(document, indent=2, default=str).replace("\x7f", "\\u007f")


def _printable(error: SparkopsError) -> SparkopsError:
    made = type(error).__new__(type(error))
    made.__dict__.update(all_printable(vars(error)))
    return made
