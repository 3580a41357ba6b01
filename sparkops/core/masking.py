"""A command line without its secrets. Pure."""

import re
import shlex
from collections.abc import Sequence

from sparkops.core.notes import COMMAND
from sparkops.core.printable import printable_line

_NAME = r"(?!(?:eos|bos|pad|unk)_token)[\w.-]*(?:(?:secret|passw(?:or)?d|credential)[\w.-]*|key|token|pass|pwd|auth)"
"""What is called so is a secret. The words that other names contain, as `tokenizer` does, count only at the end.

The special tokens of a vocabulary are none.
"""

_VALUE = r""""(?:[^"\\]|\\.)*"|'[^']*'|[{\[].*|[^,}\]\s]+"""
_ASSIGNED = re.compile(rf"(?<![\w.-])((?:env\.\w+|{_NAME})=).+", re.I | re.S)
_IN_MAPPING = re.compile(rf"""((?:["']{_NAME}["']|(?<=[{{,\s]){_NAME})\s*:\s*)(?:{_VALUE})""", re.I | re.S)
_SHAPED = re.compile(r"\b(?:hf_|sk-|gh[oprsu]_|github_pat_|glpat-)[\w-]{16,}|(?<=://)[^/@\s]*:[^/@\s]+(?=@)")
_OPTION = re.compile(rf"(?!--?(?:no|ask)-)--?{_NAME}", re.I)
"""The next word is its value, whatever it begins with."""


def typed(words: Sequence[str]) -> str:
    """A command line as it was typed, with `***` in the place of what looks like a secret."""
    shown = ["sparkops"]
    for before, word in zip(("", *words), words, strict=False):
        shown.append("***" if _OPTION.fullmatch(before) else _masked(word))
    return printable_line(shlex.join(shown).replace("'***'", "***"), COMMAND)


def _masked(word: str) -> str:
    return _SHAPED.sub("***", _IN_MAPPING.sub(r"\1***", _ASSIGNED.sub(r"\1***", word)))
