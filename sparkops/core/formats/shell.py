"""A rendered command as a shell reads it: simple commands with their words, each with its line.

Nothing is expanded and nothing is run. What only a shell could do (`$HOME`, `{a,b}`) is marked at its word, so that who
reads the words can say that they are not all.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

_BLANK = " \t\r\f\v"
_OPERATORS = ("&>>", "&&", "||", ";;", "|&", "&>", ">>", "<<", ">&", "<&", ">|", "|", "&", ";", "<", ">", "(", ")")
_CONTINUED = re.compile(r"\\[ \t\r]*(?:\n|\Z)")
_EXPANSION = re.compile(r"\$\{[^}\n]*\}|\$\([^)\n]*\)|`[^`\n]*`|\$[A-Za-z_][A-Za-z0-9_]*|\$[0-9@*#?$!({-]|`")
_SPREAD = re.compile(r"^~(?=/|$)|\{[^{}]*(?:,|\.\.)[^{}]*\}")
_QUOTED = "\x00"


@dataclass(frozen=True)
class Word:
    """`expands`: what a shell would have replaced, where there is something."""

    text: str
    line: int
    expands: str = ""


@dataclass
class Simple:
    """One command, and the operator that ends it."""

    words: list[Word] = field(default_factory=list)
    end: str = ""


class ShellError(ValueError):
    """Why a shell would not take the text; `line` counts from 0."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


def commands(text: str) -> list[Simple]:
    """The simple commands of a script in order."""
    found = [Simple()]
    for token in _Reader(text).tokens():
        if isinstance(token, Word):
            found[-1].words.append(token)
        else:
            found[-1].end = token
            found.append(Simple())
    return [simple for simple in found if simple.words or simple.end not in ("", "\n")]


class _Reader:
    """Tokens of a script: words, and operators as text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.line = 0

    def tokens(self) -> Iterator[Word | str]:
        while self.at < len(self.text):
            char = self.text[self.at]
            operator = next((one for one in _OPERATORS if self.text.startswith(one, self.at)), "")
            if char in _BLANK:
                self.at += 1
            elif self.continued():
                continue
            elif char == "#":
                end = self.text.find("\n", self.at)
                self.at = len(self.text) if end < 0 else end
            elif char == "\n" or operator:
                yield self.take(len(operator) or 1)
            else:
                word = self.word()
                if not (word.text.isdigit() and self.text[self.at : self.at + 1] in ("<", ">")):
                    yield word

    def continued(self) -> bool:
        """A backslash at the end of a line; blanks behind it, which nobody sees, are no reason to end the command."""
        found = _CONTINUED.match(self.text, self.at)
        if found is not None:
            self.take(len(found[0]))
        return found is not None

    def take(self, length: int) -> str:
        piece = self.text[self.at : self.at + length]
        self.line += piece.count("\n")
        self.at += length
        return piece

    def word(self) -> Word:
        """A word up to a blank or an operator, without its quotes."""
        start, made, bare, expands = self.line, [], [], ""
        while self.at < len(self.text) and (char := self.text[self.at]) not in _BLANK + "\n|&;<>()":
            if self.continued():
                continue
            piece, found = self.piece(char)
            made.append(piece)
            bare.append(piece if char not in "'\"\\" else _QUOTED)
            expands = expands or found
        spread = _SPREAD.search("".join(bare))
        return Word("".join(made), start, expands or (spread[0].replace(_QUOTED, "…") if spread else ""))

    def piece(self, char: str) -> tuple[str, str]:
        """The next piece of a word, and what in it a shell would replace."""
        if char == "'":
            end = self.text.find("'", self.at + 1)
            if end < 0:
                raise ShellError("a ' is never closed", self.line)
            return self.take(end + 1 - self.at)[1:-1], ""
        if char == '"':
            return self.double()
        if char == "\\":
            return self.take(2)[1:], ""
        if found := _EXPANSION.match(self.text, self.at):
            return self.take(len(found[0])), found[0]
        return self.take(1), ""

    def double(self) -> tuple[str, str]:
        """What stands between double quotes, where a backslash only escapes what is special there."""
        made: list[str] = []
        expands, opened = "", self.line
        self.take(1)
        while self.at < len(self.text):
            char = self.text[self.at]
            if char == '"':
                self.take(1)
                return "".join(made), expands
            if char == "\\":
                pair = self.take(2)
                made.append("" if pair[1:] == "\n" else pair[1:] if pair[1:] in tuple('$`"\\') else pair)
            elif found := _EXPANSION.match(self.text, self.at):
                made.append(self.take(len(found[0])))
                expands = expands or found[0]
            else:
                made.append(self.take(1))
        raise ShellError('a " is never closed', opened)
