"""A rendered command as a shell reads it: simple commands with their words, each with its line.

Nothing is run. A word that a shell would change (`$HOME`, `{a,b}`) is marked, so that its reader knows; `filled` puts
in variables with a known value and defaults such as `${PORT:-8000}`.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from sparkops.core.schema import one_line

_NESTED = r"\$\{(?:[^{}\n]|\{(?:[^{}\n]|\{[^{}\n]*\})*\})*\}"
_EXPANSION = _NESTED + r"|\$\([^)\n]*\)|`[^`\n]*`|\$[A-Za-z_][A-Za-z0-9_]*|\$[0-9@*#?$!({-]|`"
_PIECES = {
    "continued": r"\\[ \t\r]*\n",  # invisible blanks after the backslash do not end the command
    "single": r"'[^']*'",
    "double": rf'"(?:\\.|{_EXPANSION}|[^"\\])*+"',
    "escaped": r"\\.",
    "expansion": _EXPANSION,
    "plain": r"""[^ \t\r\f\v\n|&;<>()'"\\$`]+|\$""",
}
_PIECE = re.compile("|".join(f"(?P<{kind}>{pattern})" for kind, pattern in _PIECES.items()), re.DOTALL)
_IN_DOUBLE_QUOTES = re.compile(rf'(?P<expansion>{_EXPANSION})|\\(?P<special>[$`"\\])|\\\n')
_TOKEN = re.compile(
    rf"[ \t\r\f\v]+|{_PIECES['continued']}|#[^\n]*"
    r"|(?P<operator>&>>|&&|\|\||;;|\|&|&>|>>|<<|>&|<&|>\||[|&;<>()\n])"
    rf"|(?P<word>(?:{'|'.join(_PIECES.values())})+)"
    r"|(?P<unclosed>['\"])",
    re.DOTALL,
)
_SPREAD = re.compile(r"^~(?=/|$)|\{[^{}]*(?:,|\.\.)[^{}]*\}")
_QUOTED = "\x00"
_VARIABLE = re.compile(r"\$(?:(?P<bare>\w+)|\{(?P<name>\w+)(?P<rest>:?-(?P<default>[^'\"`\\]*))?\})", re.ASCII)
OF_IMAGES = (
    "PATH",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "PYTHONPATH",
    "HOME",
    "USER",
    "HOSTNAME",
    "PWD",
    "SHELL",
    "CUDA_HOME",
)
"""Variables that images and shells set, so a default in the command says nothing about them."""

Kind = Literal["text", "quoted", "bare"]


@dataclass(frozen=True)
class Word:
    """`expands`: what a shell would replace; empty if nothing.

    `pieces` are its parts: text, an expansion inside double quotes, or a bare one, which a shell splits. A word with
    `~` or `{a,b}` has none.
    """

    text: str
    line: int
    expands: str = ""
    pieces: tuple[tuple[str, Kind], ...] = ()


@dataclass
class Simple:
    """One command, and the operator that ends it."""

    words: list[Word] = field(default_factory=list)
    end: str = ""


class CommandError(ValueError):
    """Why a command is not read; `line` counts from 0 within it."""

    def __init__(self, message: str, line: int = 0) -> None:
        super().__init__(one_line(message))
        self.line = line


def commands(text: str) -> list[Simple]:
    """The simple commands of a script in order."""
    found, line = [Simple()], 0
    text += "\n"
    for token in _TOKEN.finditer(text):
        if token["unclosed"]:
            raise CommandError(f"the quote {token[0]} is not closed", line)
        if token["operator"]:
            found[-1].end = token[0]
            found.append(Simple())
        elif token["word"]:
            word = _word(token[0], line)
            if not (word.text.isdigit() and text.startswith(("<", ">"), token.end())):
                found[-1].words.append(word)
        line += token[0].count("\n")
    return [simple for simple in found if simple.words or simple.end not in ("", "\n")]


def _word(text: str, line: int) -> Word:
    """A word without its quotes, with the first part that a shell would replace."""
    bare = ""
    pieces: list[tuple[str, Kind]] = []
    for piece in _PIECE.finditer(text):
        kind, part = piece.lastgroup, piece[0]
        if kind == "continued":
            continue
        bare += part if kind in ("plain", "expansion") else _QUOTED
        if kind == "double":
            pieces += _in_double_quotes(part[1:-1])
        elif kind == "expansion":
            pieces.append((part, "bare"))
        else:
            pieces.append(({"single": part[1:-1], "escaped": part[1:]}.get(str(kind), part), "text"))
    expands = next((part for part, kind in pieces if kind != "text"), "")
    made = "".join(part for part, _ in pieces)
    if spread := _SPREAD.search(bare):
        return Word(made, line, expands or spread[0].replace(_QUOTED, "…"))
    return Word(made, line, expands, tuple(pieces))


def _in_double_quotes(text: str) -> Iterator[tuple[str, Kind]]:
    done = 0
    for one in _IN_DOUBLE_QUOTES.finditer(text):
        yield text[done : one.start()], "text"
        yield (one["expansion"], "quoted") if one["expansion"] else (one["special"] or "", "text")
        done = one.end()
    yield text[done:], "text"


def filled(word: Word, values: Mapping[str, str]) -> tuple[list[Word], dict[str, str]]:
    """The words that a shell makes of one, as far as these values tell, and the defaults that it took by name."""
    assumed: dict[str, str] = {}
    parts = [(part if kind == "text" else _value(part, values, assumed), kind) for part, kind in word.pieces]
    if not word.expands or not parts or any(part is None for part, _ in parts):
        return [word], {}
    text = "".join(str(part) for part, _ in parts)
    splits = any(kind == "bare" and (not part or len(str(part).split()) > 1) for part, kind in parts)
    if not splits:
        return [Word(text, word.line, pieces=((text, "text"),))], assumed
    if len(parts) > 1:
        return [word], {}
    return [Word(part, word.line, pieces=((part, "text"),)) for part in text.split()], assumed


def _value(expansion: str, values: Mapping[str, str], assumed: dict[str, str]) -> str | None:
    """A variable's known value, or its default; None if only a shell in the container could tell."""
    found = _VARIABLE.fullmatch(expansion)
    if found is None:
        return None
    name, default = found["bare"] or found["name"], found["default"]
    if values.get(name) or (name in values and not str(found["rest"] or "").startswith(":")):
        return values[name]
    if default is None or (name in OF_IMAGES and name not in values):
        return None
    inner = [_value(one[0], values, assumed) for one in re.finditer(_EXPANSION, default)]
    if None in inner:
        return None
    rest = iter(inner)
    assumed[name] = re.sub(_EXPANSION, lambda _: str(next(rest)), default)
    return assumed[name]
