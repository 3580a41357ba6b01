"""A rendered command as a shell reads it: simple commands with their words, each with its line.

Nothing is expanded and nothing is run. A word that a shell would change (`$HOME`, `{a,b}`) is marked, so that its
reader knows.
"""

import re
from dataclasses import dataclass, field

from sparkops.core.schema import one_line

_EXPANSION = r"\$\{[^}\n]*\}|\$\([^)\n]*\)|`[^`\n]*`|\$[A-Za-z_][A-Za-z0-9_]*|\$[0-9@*#?$!({-]|`"
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


@dataclass(frozen=True)
class Word:
    """`expands`: what a shell would replace; empty if nothing."""

    text: str
    line: int
    expands: str = ""


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
    made = bare = expands = ""
    for piece in _PIECE.finditer(text):
        kind, part, found = piece.lastgroup, piece[0], ""
        if kind == "continued":
            continue
        bare += part if kind in ("plain", "expansion") else _QUOTED
        if kind == "single":
            part = part[1:-1]
        elif kind == "escaped":
            part = part[1:]
        elif kind == "double":
            part = part[1:-1]
            found = next((one[0] for one in _IN_DOUBLE_QUOTES.finditer(part) if one["expansion"]), "")
            part = _IN_DOUBLE_QUOTES.sub(lambda one: one["expansion"] or one["special"] or "", part)
        elif kind == "expansion":
            found = part
        made += part
        expands = expands or found
    spread = _SPREAD.search(bare)
    return Word(made, line, expands or (spread[0].replace(_QUOTED, "…") if spread else ""))
