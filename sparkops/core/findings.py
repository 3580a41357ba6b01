"""Findings of rules and checks, and the changes that a rule makes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeVar

RuleAction = Literal["fix", "warn", "refuse", "allowed"]
CheckStatus = Literal["pass", "warn", "fail", "skip", "fixed"]
ORDER: tuple[str, ...] = ("fail", "warn", "fixed", "pass", "skip")
"""The statuses of checks, worst first."""


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
    of all nodes together is about, if it is not about all. `follows` is the check that found the cause. `final`: it
    fails for certain, so --allow would not help.
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
    final: bool = False

    @property
    def status(self) -> str:
        return self.action


class Ordered(Protocol):
    """What `first_causes` sorts: a finding, or several of one check together."""

    @property
    def id(self) -> str: ...
    @property
    def status(self) -> str: ...
    @property
    def follows(self) -> str: ...


T = TypeVar("T", bound=Ordered)


def first_causes(found: Sequence[T]) -> list[T]:
    """Worst first, but each cause before what follows from it, however bad it is itself."""
    worst: dict[str, int] = {}
    place = {one.id: number for number, one in reversed(list(enumerate(found)))}
    held = [one for one in found if one.status in ("fail", "warn")]
    for one in held:
        cause = one.follows or one.id
        worst[cause] = min(worst.get(cause, len(ORDER)), ORDER.index(one.status))

    def key(one: T) -> tuple[int, int, bool, int]:
        cause, rank = one.follows or one.id, ORDER.index(one.status)
        return worst[cause] if one.status in ("fail", "warn") else rank, place[cause], cause != one.id, rank

    return sorted(found, key=key)
