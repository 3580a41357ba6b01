"""What `completion` is asked for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class CompletionOptions:
    shell: str
