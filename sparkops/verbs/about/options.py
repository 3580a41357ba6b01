"""Options of `help`."""

from dataclasses import dataclass


@dataclass(frozen=True)
class HelpOptions:
    """`text` is the help of the command that was named."""

    text: str
