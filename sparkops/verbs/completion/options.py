"""What `completion` is asked for."""

from dataclasses import dataclass


@dataclass(frozen=True)
class CompletionOptions:
    shell: str
