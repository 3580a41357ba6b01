"""What can go wrong, one exit code each.

SparkopsError
├── UsageError      2  wrong usage, or a wrong file: names file, line and key
├── Refused         3  a rule or a check failed; nothing was changed
├── Unreachable     4  a node could not be reached, authenticated or trusted; its state is unknown
├── StepFailed      5  something failed on a node: step, node, last lines
├── Locked          6  another run holds the lock: who, since when
└── Interrupted   130  Ctrl-C, SIGTERM or a closed terminal; what this run had started was undone

Anything else that escapes is a bug in sparkops and exits 1.
"""

from collections.abc import Mapping
from typing import Any

BUG = 1


class SparkopsError(Exception):
    """Carries what the error document of `--json` needs: message, and where known node, step and hint."""

    exit_code = BUG
    kind = "bug"

    def __init__(
        self, message: str, *, node: str | None = None, step: str | None = None, hint: str | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.node = node
        self.step = step
        self.hint = hint
        self.rolled_back: str | None = None
        """What became of the steps that a plan had sent, if it undid them."""


class UsageError(SparkopsError):
    exit_code = 2
    kind = "usage"


class Ambiguous(UsageError):
    """Several deployments could be meant; the hint is how to name each."""


class Refused(SparkopsError):
    exit_code = 3
    kind = "refused"


class Unreachable(SparkopsError):
    exit_code = 4
    kind = "unreachable"


class StepFailed(SparkopsError):
    exit_code = 5
    kind = "failed"


class Locked(SparkopsError):
    """`holder` is what the other run wrote into the lock: run, user, machine, pid, since, command."""

    exit_code = 6
    kind = "locked"

    def __init__(self, message: str, *, holder: Mapping[str, Any], node: str, hint: str) -> None:
        super().__init__(message, node=node, hint=hint)
        self.holder = holder


class Interrupted(SparkopsError):
    """`more` says what became of the work."""

    exit_code = 130
    kind = "interrupted"
    how = ""
    """What interrupted this run, as `sparkops.signals` heard it."""

    def __init__(self, more: str = "", *, hint: str | None = None) -> None:
        super().__init__("; ".join(part for part in (self.how or "interrupted", more) if part), hint=hint)


PRECEDENCE = (BUG, 130, 6, 4, 5, 3, 2, 0)
"""When several causes meet, the first of these wins (the contract of exit codes)."""


def worst(*codes: int) -> int:
    """The exit code that several outcomes make together."""
    return min(codes, key=PRECEDENCE.index, default=0)
