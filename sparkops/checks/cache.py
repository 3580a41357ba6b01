"""Checks of what keeps the page cache small while a model serves for days."""

from collections.abc import Iterator

from sparkops.checks.check import CannotTell, Check, Said, good, read, some, warn
from sparkops.core.situation import Situation

LONG_CONTEXT = 131072
"""Tokens, from which on a cluster's engine leaves so little that the page cache ends it within a day."""

LONG_BY_DEFAULT = "gpt-oss"
"""Models whose own context is that long, where the recipe sets none."""


def scheduled(s: Situation) -> Iterator[Said]:
    """One sentence for all nodes: they are served by one command."""
    if not _long(s):
        raise CannotTell(f"applies to a context of {LONG_CONTEXT} tokens or more")
    found = {member.name: read(s.facts[member.name].schedule, member.name) for member in s.revision.engines}
    without = [name for name, schedule in found.items() if not schedule.installed]
    if without:
        told = f"no schedule drops the page cache on {some(without)}"
        yield warn(told, evidence=f"no schedule: {', '.join(without)}")
    else:
        yield good(f"cron drops the page cache on {len(found)} nodes")


def _long(s: Situation) -> bool:
    unset = LONG_CONTEXT if LONG_BY_DEFAULT in s.effective.model.lower() else 0
    return s.effective.number("max-model-len", unset) >= LONG_CONTEXT


CHECKS = (
    Check(
        id="cache-scheduled",
        title="A cron job drops the page cache",
        why=(
            "The page cache grows into memory that the engine needs. A cluster with the full context died of it after "
            "about 19 hours."
        ),
        source="the recipe article: 0.75 instead of 0.80, to survive between the runs of the cron job that drops it",
        hint="sparkops cache schedule --every 30m",
        severity="warn",
        reads=("schedule",),
        together=scheduled,
        topologies=("cluster",),
        placed=True,
        deploys=True,
    ),
)
