"""The result of a play on each node, in Ansible's words."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from sparkops.core.plan import Event, Plan


@dataclass(frozen=True)
class Recap:
    """Steps by how they ended. `ignored` failed and were allowed to; `undecided` only in a check: the run decides."""

    ok: int = 0
    changed: int = 0
    skipped: int = 0
    failed: int = 0
    unreachable: int = 0
    ignored: int = 0
    undecided: int = 0

    def plus(self, other: "Recap") -> "Recap":
        return Recap(**{name: count + getattr(other, name) for name, count in vars(self).items()})

    @property
    def bad(self) -> bool:
        return bool(self.failed or self.unreachable)


_ENDED = {"held": "ok", "skipped": "skipped", "failed": "failed", "lost": "unreachable", "undecided": "undecided"}


def recap(plan: Plan, events: Iterable[Event]) -> dict[str, Recap]:
    """By node, counted from the events of a run or a check; every node of the plan is in it."""
    changes = {step.id: step.changes for step in plan.steps}
    ignored = {step.id for step in plan.steps if step.terms and step.terms.ignore_errors}
    found = {step.node: Recap() for step in plan.steps}
    for event in events:
        ending = "changed" if event.kind == "done" and changes.get(event.step or "") else _ENDED.get(event.kind)
        ending = ending or ("ok" if event.kind == "done" else None)
        ending = "ignored" if ending == "failed" and event.step in ignored else ending
        if ending and event.node in found:
            found[event.node] = replace(found[event.node], **{ending: getattr(found[event.node], ending) + 1})
    return found


def total(parts: Iterable[Mapping[str, Recap]]) -> dict[str, Recap]:
    """By node, the sum over several plays."""
    found: dict[str, Recap] = {}
    for part in parts:
        for node, counts in part.items():
            found[node] = found.get(node, Recap()).plus(counts)
    return found
