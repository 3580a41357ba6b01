"""What an engine's last lines mean, and what to do.

The known lines count in the order of their table. If the log has a general error only, the first error above it is
shown.
"""

import itertools
import re
from collections.abc import Iterable
from dataclasses import dataclass

from sparkops.core.enginelog import messages, progress
from sparkops.core.known_ends import KNOWN, SERVED, KnownEnd


@dataclass(frozen=True)
class Diagnosis:
    """`line` is the log line that it was read from; `id` is stable, for tests and scripts."""

    id: str
    cause: str
    hint: str
    line: str

    @property
    def follows(self) -> bool:
        """Whether it tells only of a wait for another node, or of its loss."""
        return self.id in (*_LOST, *_WAITS)


FIRST_ERROR = "first-error"

_WAITS = [name for name, known in KNOWN.items() if (known.during or known.until) and not known.elsewhere]
_LOST = [name for name, known in KNOWN.items() if known.elsewhere]
_CAUSES = [name for name in KNOWN if name not in (*_WAITS, *_LOST)]

_GENERAL = (
    r"Engine core initialization failed|EngineCore (?:failed to start|encountered (?:a fatal error|an issue))"
    r"|sparkops: (?:the engine ended with exit code|gave up after) \d+"
)
_ERROR = r"\bERROR\b|^\w*(?:Error|Exception): "
_PREFIX = r"^(?:\([^)]*\) )*(?:[A-Z]+ [\d-]+ [\d:]+ \[[^\]]*\] )?"
_RAISED = r"\b(?:[A-Za-z_]\w*\.)*([A-Z]\w*(?:Error|Exception|Interrupt): .+)"


def diagnose(lines: Iterable[str]) -> Diagnosis | None:
    """The most trusted reading of these lines, or None if no line is known."""
    log = _since_it_served(list(messages(lines)))
    reached = progress(log)
    phase = reached.name if reached else ""
    ends = [name for name in KNOWN if name not in _WAITS]
    return _read(ends, log, phase) or _first_error(log) or _read(_WAITS, log, phase)


def _since_it_served(log: list[str]) -> list[str]:
    """Without what an engine logged that served before the one that starts now: that end is made up for."""
    ends = [at for at, line in enumerate(log, 1) if re.search(SERVED, line)]
    return log[ends[-1] :] if ends and progress(log[ends[-1] :]) else log


def most_telling(logs: Iterable[str]) -> tuple[int, Diagnosis] | None:
    """Choose the log that explains a failure best: its index and its diagnosis; None if no log has a known line.

    A known cause comes before any other error, that before the loss of another node, and that before a wait.
    """
    readings = [(index, found) for index, log in enumerate(logs) if (found := diagnose(log.splitlines()))]
    trust = [*_CAUSES, FIRST_ERROR, *_LOST, *_WAITS]
    return min(readings, key=lambda reading: trust.index(reading[1].id), default=None)


def _read(names: Iterable[str], log: list[str], phase: str) -> Diagnosis | None:
    """The first of these causes that has a line; `phase` is the one that the log has reached."""
    for name in names:
        known = KNOWN[name]
        for line in _counting(known, log, phase):
            if found := re.search(known.pattern, line):
                cause, hint = (text.format(*found.groups("")) for text in (known.cause, known.hint))
                return Diagnosis(name, cause, hint, line.strip())
    return None


def _counting(known: KnownEnd, log: list[str], phase: str) -> Iterable[str]:
    """The lines that may tell of this cause, the one that counts most first."""
    if known.until:
        return itertools.takewhile(lambda line: not re.search(known.until, line), reversed(log))
    if known.during:
        return reversed(log) if phase in known.during else ()
    return log


def _first_error(log: list[str]) -> Diagnosis | None:
    """The first exception if the log has a general error, else the first error above that one, else that one."""
    general = next((index for index, line in enumerate(log) if re.search(_GENERAL, line)), None)
    if general is None:
        return None
    errors = [line for line in log[:general] if re.search(_ERROR, line) and not re.search(_GENERAL, line)]
    raised = [line for line in (*errors, *log[general:]) if re.search(_RAISED, line) and not re.search(_GENERAL, line)]
    line = (raised or errors or [log[general]])[0]
    found = re.search(_RAISED, line)
    cause = found[1] if found else re.sub(_PREFIX, "", line)
    return Diagnosis(FIRST_ERROR, cause.strip(), "read the whole log: `sparkops logs --previous`", line.strip())
