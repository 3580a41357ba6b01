"""Options of `play`, `playbook` and `run`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sparkops.core.target import Target


@dataclass(frozen=True)
class PlayOptions:
    """`extra` are the variables of `-e`; `check` shows what would be done, `list_steps` only the plays and steps."""

    where: Target
    file: str
    extra: Mapping[str, Any] = field(default_factory=dict)
    tags: frozenset[str] = frozenset()
    skip_tags: frozenset[str] = frozenset()
    check: bool = False
    list_steps: bool = False


@dataclass(frozen=True)
class PlaybookOptions:
    """`name` is a packaged playbook, or a file; `extra` are the variables that `-e` will set."""

    name: str
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class RunOptions:
    """`words` are sent unchanged to every selected node; `timeout` in seconds."""

    where: Target
    words: tuple[str, ...]
    become: bool = False
    timeout: float = 60.0
