"""Findings of rules and checks, and the changes that a rule makes."""

from dataclasses import dataclass
from typing import Any, Literal

RuleAction = Literal["fix", "warn", "refuse", "allowed"]
CheckStatus = Literal["pass", "warn", "fail", "skip", "fixed"]


@dataclass(frozen=True)
class SettingChange:
    """One setting that a rule changes; None is "not set". A mount's key is its name, `after` True."""

    kind: Literal["args", "env", "mounts"]
    key: str
    before: Any
    after: Any

    def __str__(self) -> str:
        if self.kind == "mounts":
            return f"mount {self.key}"
        name = f"--{self.key}" if self.kind == "args" else self.key
        was = "" if self.before in (None, False) else f" (was {self.before})"
        if self.after is None:
            return f"{name} dropped{was}"
        return name + ("" if self.after is True else f" {self.after}") + was


@dataclass(frozen=True)
class Finding:
    """A result of a rule or a check; a rule's has no node, a check's has no changes.

    `where` is `file:line` of what a rule found, if it is about one place of the recipe. `nodes` are those that a check
    of all nodes together is about, if it is not about all. `follows` is the check that found the cause.
    """

    id: str
    action: RuleAction | CheckStatus
    message: str
    why: str = ""
    hint: str = ""
    evidence: str = ""
    node: str | None = None
    changes: tuple[SettingChange, ...] = ()
    where: str = ""
    nodes: tuple[str, ...] = ()
    follows: str = ""

    @property
    def status(self) -> str:
        return self.action
