"""`on-demand` of a fleet's file: which deployments start when somebody asks for them, and how long they stay."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sparkops.core import schedule, schema
from sparkops.core.facts.reading import mapping
from sparkops.core.schema import Located, fail
from sparkops.errors import UsageError


@dataclass(frozen=True)
class OnDemandEntry:
    """Durations such as `30m`; `keep` and `priority` name deployments of the file."""

    idle: Located | None = None
    stay: Located | None = None
    keep: tuple[Located, ...] = ()
    priority: tuple[Located, ...] = ()


@dataclass(frozen=True)
class OnDemand:
    """All deployments but those that it `keeps` start when they are asked for.

    Each stops if nobody asks for `idle` seconds, or if another one needs its room, but stays for `stay` seconds at
    least. Of two that could stop, the one that comes later in `priority` does, or that is not there.
    """

    idle: float = 1800.0
    stay: float = 30.0
    keeps: frozenset[str] = frozenset()
    priority: tuple[str, ...] = ()

    def rank(self, name: str) -> int:
        """The higher, the rather it stays."""
        return len(self.priority) - self.priority.index(name) if name in self.priority else 0


def written(text: str) -> dict[str, Mapping[str, Any]]:
    """The deployments in the file that an endpoint follows; that may be anybody's text."""
    try:
        found = mapping(mapping(json.loads(text)).get("deployments"))
    except (ValueError, RecursionError):
        return {}
    return {name: mapping(one) for name, one in found.items()}


def as_in_a_fleet(found: Mapping[str, Mapping[str, Any]], deployments: Iterable[str]) -> dict[str, Any]:
    """The key `on-demand` of a fleet with these deployments, from what its endpoint follows."""
    usual, first = OnDemand(), next(iter(found.values()), {})
    times = {name: (first.get(name), getattr(usual, name)) for name in ("idle", "stay")}
    key = {name: f"{has:g}s" for name, (has, value) in times.items() if isinstance(has, int | float) and has != value}
    keep = sorted(name for name in deployments if name not in found)
    ranks = {name: one.get("priority") for name, one in found.items()}
    first_ones = sorted((-rank, name) for name, rank in ranks.items() if isinstance(rank, int) and rank > 0)
    lists = {"keep": keep, "priority": [name for _, name in first_ones]}
    return key | {name: value for name, value in lists.items() if value}


def on_demand(entry: OnDemandEntry, deployments: Sequence[str]) -> OnDemand:
    """Raises UsageError with file and line."""
    usual = OnDemand()
    return OnDemand(
        _seconds(entry.idle, "on-demand.idle", usual.idle),
        _seconds(entry.stay, "on-demand.stay", usual.stay),
        frozenset(_named(entry.keep, "on-demand.keep", deployments)),
        _named(entry.priority, "on-demand.priority", deployments),
    )


def _seconds(written: Located | None, path: str, usual: float) -> float:
    if written is None:
        return usual
    try:
        return schedule.duration(schema.text(written, path))
    except UsageError as error:
        fail(written, path, error.message, hint=error.hint)


def _named(written: Iterable[Located], path: str, deployments: Sequence[str]) -> tuple[str, ...]:
    found = [(one, schema.text(one, path)) for one in written]
    for one, name in found:
        if name not in deployments:
            hint = f"the deployments of this file are {', '.join(deployments)}"
            fail(one, path, f"there is no deployment {name}", hint=hint)
    return tuple(name for _, name in found)
