"""Plain text: colour where it is wanted, columns, times. Pure."""

import json
import re
import shlex
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sparkops.core.condition import DOCKER_SILENT

Document = Mapping[str, Any]
"""A verb's answer as JSON has it."""

_CODES = {"good": "32", "bad": "31", "warn": "33", "dim": "2", "bold": "1"}
WIDTH = 116
"""Width in characters at which text is wrapped."""

_ADVICE = re.compile(r"(?<![\w./\"-])sparkops ([a-z]+)(?![\w./-])")
"""A command in double quotes is no advice: someone typed it so."""

_OF_NODES = ("model", "image", "cache")
"""First words of verbs that act on nodes: advice keeps their `--limit`. Others act on what they name, anywhere."""

_OF_ALL = ("stop", "start", "restart", "rollback", "cleanup", "status", "logs", "memory")
"""Verbs that act, without a name, on all that runs on the nodes: then advice keeps the `--limit` too."""

_OF_NO_NAME = ("", "--follow", "--previous", "--check")
"""What follows such a verb in advice that names no deployment."""

_SOURCE = re.compile(r" --from (\S+)")
"""A node that advice copies from: it must be among those of `--limit`."""

_PASSWORD = re.compile(r"(\bsparkops (?!-)[^;`\"]*?) --ask-become-pass\b")
"""Advice that asks for the sudo password; what is whole already begins with an option."""

_ANSI = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True)
class Ink:
    """Colours a text by its meaning; without `colour` it stays as it is."""

    colour: bool = False

    def good(self, text: str) -> str:
        return self._paint("good", text)

    def bad(self, text: str) -> str:
        return self._paint("bad", text)

    def warn(self, text: str) -> str:
        return self._paint("warn", text)

    def dim(self, text: str) -> str:
        return self._paint("dim", text)

    def bold(self, text: str) -> str:
        return self._paint("bold", text)

    def _paint(self, meaning: str, text: str) -> str:
        return f"\x1b[{_CODES[meaning]}m{text}\x1b[0m" if self.colour and text else text


@dataclass(frozen=True)
class How:
    """How much to show; and for `verbs`, which reach nodes, the `command` that reaches the same nodes again."""

    verbose: bool = False
    command: str = "sparkops"
    verbs: frozenset[str] = frozenset()
    verb: str = ""
    typed: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    """The words before and after the verb."""
    limit: str = ""
    """The value of `--limit`."""

    def again(self, text: str) -> str:
        """The text with each `sparkops VERB` replaced by the command that reaches the same nodes."""
        if (self.command == "sparkops" and not self.limit) or "sparkops " not in text:
            return text

        if "--ask-become-pass" in self.command:  # then every command has it
            text = _PASSWORD.sub(r"\1", text)

        def whole(found: re.Match[str]) -> str:
            words = text[found.end() :].partition("`")[0]
            kept = found[1] in _OF_NODES and "--limit" not in words
            command = self.on_these if kept or (found[1] in _OF_ALL and words.strip() in _OF_NO_NAME) else self.command
            source = _SOURCE.search(words) if kept and self.limit else None
            if source and source[1] not in self.limit.split(","):
                command = f"{self.command} --limit {shlex.quote(f'{self.limit},{source[1]}')}"
            return f"{command} {found[1]}" if found[1] in self.verbs else found[0]

        return _ADVICE.sub(whole, text)

    @property
    def on_these(self) -> str:
        """The command for these nodes only."""
        return f"{self.command} --limit {shlex.quote(self.limit)}" if self.limit else self.command


def columns(rows: Iterable[Sequence[object]], indent: str = "") -> Iterator[str]:
    """Left-aligned columns, two spaces apart; None and the empty text show as a dash."""
    table = [["-" if cell is None or cell == "" else str(cell) for cell in row] for row in rows]
    if not table:
        return
    widths = [max(_width(row[index]) for row in table) for index in range(len(table[0]))]
    for row in table:
        padded = (cell + " " * (width - _width(cell)) for cell, width in zip(row, widths, strict=True))
        yield (indent + "  ".join(padded)).rstrip()


def away(document: Document, ink: Ink) -> Iterator[str]:
    """One line for each node that could not be reached."""
    for node, reason in (document.get("unreachable") or {}).items():
        word = "unknown" if reason.startswith(DOCKER_SILENT) else "unreachable"
        yield ink.bad(f"{node}: {word}: {reason}")


def clock(seconds: float) -> str:
    """Minutes and seconds, hours only when there are any."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def indented(text: str, indent: str = "    ") -> Iterator[str]:
    for line in text.splitlines():
        yield indent + line


def tail(text: str, lines: int) -> str:
    return "\n".join([line for line in text.splitlines() if line.strip()][-lines:])


def clip(text: str, width: int) -> str:
    """At most `width` characters on one line; each run of white space becomes one space."""
    return clip_line(" ".join(text.split()), width)


def clip_line(line: str, width: int) -> str:
    return line if len(line) <= width else line[: max(width - 3, 0)] + "..."


def wrapped(text: str, indent: str, width: int = WIDTH) -> list[str]:
    return textwrap.wrap(text, width, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False)


def continued(command: str, indent: str, width: int = WIDTH) -> Iterator[str]:
    """A command over several lines for a shell: each but the last ends with a backslash.

    A word is never broken, and an option stays with its value.
    """
    line = indent
    pieces = _pieces(command)
    for number, piece in enumerate(pieces):
        last = number == len(pieces) - 1
        if line.strip() and len(line) + len(piece) + (0 if last else 2) > width:
            yield f"{line.rstrip()} \\"
            line = f"{indent}  "
        line += f"{piece} "
    yield line.rstrip()


def _pieces(command: str) -> list[str]:
    """The words of a command, quoted as they are; an option together with its value."""
    pieces: list[str] = []
    takes_value = False
    for word in re.findall(r"(?:'[^']*'|\"[^\"]*\"|\\.|[^\s'\"\\])+", command):
        if takes_value and not word.startswith("-"):
            pieces[-1] += f" {word}"
            takes_value = False
        else:
            pieces.append(word)
            takes_value = word.startswith("-") and "=" not in word and word != "--"
    return pieces


def words(value: object) -> str:
    """A setting's value as a recipe writes it."""
    return value if isinstance(value, str) else json.dumps(value, default=str)


def _width(text: str) -> int:
    return len(_ANSI.sub("", text))
