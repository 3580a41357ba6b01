"""How a command is sent: scripts as text, `run.sh` around it, words as one shell line."""

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from sparkops.core.plan import Command, Script, Secret, Upload, Word

LONGEST = 128 * 1024 - 1024
"""Linux refuses a longer single argument (MAX_ARG_STRLEN), and a login shell gets its whole line as one."""

LOCK_LOST = "sparkops-run: lock lost"
LOCK_LOST_TOLD = "this run lost its lock to another run while this machine was silent (asleep?), so the node refused it"
TIMED_OUT = "sparkops-run: timeout"
READS = "-"
SUDO_TRIES = 3
"""sudo's own default (passwd_tries)."""


@dataclass(frozen=True)
class Frame:
    """One shell line and its stdin, followed by the content of the file `upload`, if any."""

    line: str
    stdin: bytes
    upload: str | None = None


@cache
def script_text(name: str) -> str:
    """A script as POSIX sh, with the scripts and modules that it includes; Python is passed to `python3 -c`."""
    if (files("sparkops") / "node" / f"{name}.sh").is_file():
        return _SOURCED.sub(lambda line: script_text(line[1]), _node_file(f"{name}.sh"))
    text = "".join(["from __future__ import annotations\n", *_python(name, set())])
    return f'exec python3 -I -c {shlex.quote(text)} "$@"'


_SOURCED = re.compile(r"^\. \./(\w+)\.sh\n", re.MULTILINE)
_CARRIED = re.compile(r"^from sparkops\.node\.(\w+) import (?:\([^)]*\)|[^\n]*)\n", re.MULTILINE)
_FUTURE = re.compile(r"^from __future__ import annotations\n", re.MULTILINE)


def _python(name: str, carried: set[str]) -> Iterator[str]:
    """The text of each module of sparkops that this one imports, once, then its own: nodes lack the package."""
    carried.add(name)
    text = _node_file(f"{name}.py")
    for other in _CARRIED.findall(text):
        if other not in carried:
            yield from _python(other, carried)
    yield _FUTURE.sub("", _CARRIED.sub("", text))


def _node_file(name: str) -> str:
    return (files("sparkops") / "node" / name).read_text(encoding="utf-8")


def expand(words: tuple[Word, ...]) -> tuple[str, ...]:
    """The words with each `Script("x")` replaced by `sh -c TEXT x`."""
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
    """The command inside `run.sh`, with sudo where it is wanted; passwords are sent on stdin only."""
    upload = command.stdin if isinstance(command.stdin, Upload) else None
    stdin = b"" if isinstance(command.stdin, Upload) else _stdin(command.stdin, secrets)
    size = upload.size if upload else len(stdin)
    path = upload.path if upload else None
    holder = READS if command.reads or run is None else run
    asks = command.become and sudo_password is not None
    count = f"+{size}" if asks else str(size)
    words: tuple[Word, ...] = (Script("run"), _seconds(command.timeout), count, holder, *command.words)
    if not command.become:
        return Frame(shell_line(words), stdin, path)
    if sudo_password is None:
        return Frame(shell_line(("sudo", "-n", "--", *words)), stdin, path)
    # Send the password as often as sudo asks: after a wrong one it would read the lines behind it, or wait forever.
    # run.sh skips all lines up to the empty one, since sudo reads no password if it needs none.
    asked = f"{sudo_password}\n" * SUDO_TRIES + "\n"
    return Frame(shell_line(("sudo", "-S", "-p", "", "--", *words)), asked.encode() + stdin, path)


def _seconds(timeout: float) -> str:
    return str(int(timeout)) if timeout == int(timeout) else f"{timeout:.2f}"


def _stdin(stdin: str | Secret | None, secrets: Mapping[str, str]) -> bytes:
    if isinstance(stdin, Secret):
        return secrets[stdin.name].encode()
    return (stdin or "").encode()
