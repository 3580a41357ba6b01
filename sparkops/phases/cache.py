"""Steps that keep the page cache out of the GPU's way: the schedule on a node, and the right to drop."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from sparkops.core.facts import Facts, User
from sparkops.core.plan import Action, Phase, Plan, Step
from sparkops.core.schedule import Schedule
from sparkops.node_commands import caches, scripts

SUDOERS = "/etc/sudoers.d/sparkops-drop-caches"
"""A name without a dot: sudo skips the others."""

TEE = "/usr/bin/tee /proc/sys/vm/drop_caches"


@dataclass(frozen=True)
class WantedSchedule:
    """A schedule for a node, or that there shall be none; `cache_dir` is the inventory's."""

    node: str
    schedule: Schedule | None
    cache_dir: str | None = None


def compile_schedule(wanted: Iterable[WantedSchedule]) -> Plan:
    """One node's trouble is no reason to leave the others without: what can be done is done."""
    wanted = tuple(wanted)
    removes = any(one.schedule is None for one in wanted)
    name = "remove the crontab entries" if removes else "write the crontab entries"
    phase = Phase(name, tuple(map(_entry, wanted)))
    return Plan("cache unschedule" if removes else "cache schedule", None, (phase,), on_failure="go-on")


def compile_permit(facts: Mapping[str, Facts]) -> Plan:
    steps = [step for node, known in facts.items() for step in permit_and_check(known, node)]
    phases = (Phase("permit to drop the page cache", tuple(steps)),) if steps else ()
    return Plan("cache permit", None, phases)


def permit_and_check(facts: Facts, node: str) -> Iterator[Step]:
    """The manifest first, so that `cleanup` knows of the line whatever happens then."""
    note, forget = scripts.record("sudoers", SUDOERS), scripts.forget("sudoers", SUDOERS)
    yield Step(f"note-permit.{node}", node, "note it in the manifest", Action(note), Action(forget))
    yield permit(facts, node)
    yield Step(f"permitted.{node}", node, "see whether it is allowed now", Action(caches.permitted()))


def permit(facts: Facts, node: str) -> Step:
    """One line for one command; `visudo -c` must like it before it is put in place."""
    write = Action(caches.permit(SUDOERS, sudoers_line(facts)))
    return Step(f"permit.{node}", node, "write the narrow sudoers line", write, Action(caches.forbid(SUDOERS)))


def sudoers_line(facts: Facts) -> str:
    """A login that sudoers would read otherwise is named by its number."""
    user = facts.id if isinstance(facts.id, User) else User(0, "root", 0, (), "")
    who = user.name if re.fullmatch(r"[a-z_][a-z0-9_-]*", user.name) else f"#{user.uid}"
    return f"{who} ALL=(root) NOPASSWD: {TEE}"


def _entry(one: WantedSchedule) -> Step:
    if one.schedule is None:
        return Step(f"unschedule.{one.node}", one.node, "remove our crontab entry", Action(caches.unschedule()))
    set_it = Action(caches.schedule(one.schedule, one.cache_dir))
    return Step(f"schedule.{one.node}", one.node, "have cron drop the page cache", set_it)
