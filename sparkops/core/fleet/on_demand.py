"""`on-demand` of a fleet's file: which deployments start when somebody asks for them, and how long they stay."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

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


def written_names(text: str) -> frozenset[str]:
    """The deployments in the file that an endpoint follows; that may be anybody's text."""
    try:
        found = mapping(json.loads(text)).get("deployments")
    except (ValueError, RecursionError):
        return frozenset()
    return frozenset(map(str, mapping(found)))


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
