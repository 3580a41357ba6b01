"""How a command travels: our scripts as text, the frame of `run.sh` around it, words as one shell line."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from sparkops.core.plan import Command, Script, Secret, Word

LONGEST = 128 * 1024 - 1024
"""Linux refuses a longer single argument (MAX_ARG_STRLEN), and a login shell gets its whole line as one."""

LOCK_LOST = "sparkops-run: lock lost"
TIMED_OUT = "sparkops-run: timeout"
READS = "-"
SUDO_TRIES = 3
"""sudo's own default (passwd_tries)."""


@dataclass(frozen=True)
class Frame:
    """One shell line, and what its stdin begins with."""

    line: str
    stdin: bytes


@cache
def script_text(name: str) -> str:
    return (files("sparkops") / "node" / f"{name}.sh").read_text(encoding="utf-8")


def expand(words: tuple[Word, ...]) -> tuple[str, ...]:
    """`Script("x")` becomes `sh -c TEXT x`, wherever it stands."""
    return tuple(plain for word in words for plain in _plain(word))


def _plain(word: Word) -> tuple[str, ...]:
    return ("sh", "-c", script_text(word.name), word.name) if isinstance(word, Script) else (word,)


def shell_line(words: tuple[Word, ...]) -> str:
    """The one place where words become a shell line."""
    line = shlex.join(expand(words))
    if len(line.encode()) > LONGEST:
        raise ValueError(f"a command of {len(line.encode())} bytes does not fit into one argument ({LONGEST})")
    return line


def frame(command: Command, run: str | None, secrets: Mapping[str, str], sudo_password: str | None = None) -> Frame:
    """The command inside `run.sh`, inside sudo where it is wanted; a password travels on stdin only."""
    stdin = _stdin(command.stdin, secrets)
    holder = READS if command.reads or run is None else run
    asks = command.become and sudo_password is not None
    count = f"+{len(stdin)}" if asks else str(len(stdin))
    words: tuple[Word, ...] = (Script("run"), _seconds(command.timeout), count, holder, *command.words)
    if not command.become:
        return Frame(shell_line(words), stdin)
    if sudo_password is None:
        return Frame(shell_line(("sudo", "-n", "--", *words)), stdin)
    # As often as sudo asks: a wrong one would else make it take the lines behind, or wait for more without end. The
    # empty line ends what run.sh skips: sudo does not read the password where it needs none.
    asked = f"{sudo_password}\n" * SUDO_TRIES + "\n"
    return Frame(shell_line(("sudo", "-S", "-p", "", "--", *words)), asked.encode() + stdin)


def _seconds(timeout: float) -> str:
    return str(int(timeout)) if timeout == int(timeout) else f"{timeout:.2f}"


def _stdin(stdin: str | Secret | None, secrets: Mapping[str, str]) -> bytes:
    if isinstance(stdin, Secret):
        return secrets[stdin.name].encode()
    return (stdin or "").encode()
