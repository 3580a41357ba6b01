"""Steps that free memory of the page cache for the GPU: a node's schedule, and the right to drop."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from sparkops.core.facts import Facts, User
from sparkops.core.plan import Plan, Step
from sparkops.core.schedule import Schedule
from sparkops.node_commands import caches, scripts
from sparkops.phases.steps import plan, step

SUDOERS = "/etc/sudoers.d/sparkops-drop-caches"
"""The name has no dot, since sudo ignores files with a dot."""

TEE = "/usr/bin/tee /proc/sys/vm/drop_caches"


@dataclass(frozen=True)
class WantedSchedule:
    """A node's schedule, None to remove it; `cache_dir` is the inventory's."""

    node: str
    schedule: Schedule | None
    cache_dir: str | None = None


def compile_schedule(wanted: Iterable[WantedSchedule]) -> Plan:
    """The plan; if a node fails, the others go on."""
    wanted = tuple(wanted)
    removes = any(one.schedule is None for one in wanted)
    name = "remove the crontab entries" if removes else "write the crontab entries"
    return plan("cache unschedule" if removes else "cache schedule", {name: map(_entry, wanted)}, on_failure="go-on")


def compile_permit(facts: Mapping[str, Facts]) -> Plan:
    steps = (one for node, known in facts.items() for one in permit_and_check(known, node))
    return plan("cache permit", {"permit the page cache drop": steps})


def permit_and_check(facts: Facts, node: str) -> Iterator[Step]:
    """The manifest comes first, so that `cleanup` knows of the line even if a later step fails."""
    note, forget = scripts.record("sudoers", SUDOERS), scripts.forget("sudoers", SUDOERS)
    yield step(f"note-permit.{node}", node, "record the change in the manifest", note, forget)
    write = caches.permit(SUDOERS, sudoers_line(facts))  # put in place only if `visudo -c` accepts it
    yield step(f"permit.{node}", node, "write the sudoers rule for the page cache drop", write, caches.forbid(SUDOERS))
    yield step(f"permitted.{node}", node, "check that sudo allows the page cache drop", caches.permitted())


def sudoers_line(facts: Facts) -> str:
    """The rule for one command; a user name with special characters is replaced by its number."""
    user = facts.id if isinstance(facts.id, User) else User(0, "root", 0, (), "")
    who = user.name if re.fullmatch(r"[a-z_][a-z0-9_-]*", user.name) else f"#{user.uid}"
    return f"{who} ALL=(root) NOPASSWD: {TEE}"


def _entry(one: WantedSchedule) -> Step:
    if one.schedule is None:
        return step(f"unschedule.{one.node}", one.node, "remove the sparkops crontab entry", caches.unschedule())
    entry = caches.schedule(one.schedule, one.cache_dir)
    return step(f"schedule.{one.node}", one.node, "write the crontab entry that drops the page cache", entry)
