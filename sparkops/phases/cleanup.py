"""Remove what sparkops left on nodes: its containers, then what the manifest lists."""

from collections.abc import Callable, Iterable, Iterator, Mapping

from sparkops.core import manifest
from sparkops.core.facts import Container, Facts, JobFact, Left, Scheduled
from sparkops.core.plan import Command, Plan, Step
from sparkops.core.situation import state_dir
from sparkops.node_commands import caches, rights, scripts
from sparkops.phases import fabric
from sparkops.phases.steps import plan, step

OWN_JOBS = "cache-"
"""Prefix of jobs that end with the engine they watch."""

KEY = "authorized-key"
"""The kind of the entry that is the SSH key of `init`."""


def compile_cleanup(facts: Mapping[str, Facts]) -> Plan:
    """The plan; if a step fails, that node keeps its manifest and the other nodes go on."""
    steps = (one for node, known in facts.items() if anything(known) for one in _node(node, known))
    return plan("cleanup", {"clean up": steps}, on_failure="drop")


def anything(facts: Facts) -> bool:
    return bool(items(facts))


def items(facts: Facts) -> list[manifest.Entry]:
    """Everything that would be removed, as it is shown to the user."""
    here = [manifest.Entry("container", one.name) for one in ours(facts)]
    listed = manifest.entries(facts.state.manifest) if isinstance(facts.state, Left) else ()
    return [*here, *_unlisted(facts, listed), *listed]


def ours(facts: Facts) -> list[Container]:
    return [one for one in facts.containers if one.ours]


def needs_root(facts: Facts) -> bool:
    return any(entry.kind in NEED_ROOT for entry in items(facts))


def jobs(facts: Facts) -> list[JobFact]:
    return [job for job in facts.state.jobs if job.alive] if isinstance(facts.state, Left) else []


def _unlisted(facts: Facts, listed: tuple[manifest.Entry, ...]) -> Iterator[manifest.Entry]:
    """Entries missing in the manifest: from an older sparkops, or after the manifest was removed by hand."""
    kinds = {entry.kind for entry in listed}
    if "crontab" not in kinds and isinstance(facts.schedule, Scheduled) and facts.schedule.line:
        yield manifest.Entry("crontab", "cache schedule")
    unlisted = {entry.what for entry in listed} <= {f"{state_dir(facts)}/history"}
    if unlisted and isinstance(facts.state, Left) and (facts.state.keys or facts.state.jobs or facts.state.orphans):
        yield manifest.Entry("folder", state_dir(facts))


def _node(node: str, facts: Facts) -> Iterator[Step]:
    kinds = {entry.kind for entry in items(facts)}
    for one in ours(facts):
        remove = scripts.container("remove", one.name, one.deployment or "", state_dir(facts))
        yield step(f"container.{one.name}.{node}", node, f"remove {one.name}", remove)
    for job in jobs(facts):
        yield step(f"job.{job.id}.{node}", node, f"cancel the job {job.id}", scripts.cancel_job(job.id))
    if "crontab" in kinds:
        yield step(f"crontab.{node}", node, "remove the sparkops crontab entry", caches.unschedule())
    listed = [one for one in items(facts) if one.kind not in ("container", "crontab")]
    rooted = [one for one in listed if one.kind in NEED_ROOT]
    # The key that sparkops logs in with goes last: without root's steps someone has to come back.
    last = [one for one in listed if one.kind == KEY] if rooted else listed
    if first := [one for one in listed if one not in (*rooted, *last)]:
        keep = sorted({KEY, *(one.kind for one in rooted)})
        what = ", ".join(_names(first)) or "empty directories"
        yield step(f"most.{node}", node, f"remove {what}", scripts.clean(keep))
    if fabric.ENTRY in rooted:
        yield from fabric.removing(node)
    for at, entry in enumerate(one for one in rooted if one.kind in ROOTED):
        title = f"undo the {entry.title} {entry.what}"
        yield step(f"{entry.kind}-{at}.{node}", node, title, ROOTED[entry.kind](entry.what))
    yield step(f"all.{node}", node, f"remove {', '.join((*_names(last), 'manifest'))}", scripts.clean())


def _names(entries: Iterable[manifest.Entry]) -> Iterator[str]:
    """What the script of the manifest removes, in words, without what goes only if it is empty."""
    yield from dict.fromkeys(one.what.rpartition("/")[2] for one in entries if one.kind in ("file", "folder"))
    yield from (one.title for one in entries if one.kind == KEY)


ROOTED: Mapping[str, Callable[[str], Command]] = {
    "sudoers": caches.forbid,
    "linger": rights.unlinger,
    "service": rights.stop_service,
}
"""By kind of entry that only root may undo: the command that undoes it."""

NEED_ROOT = frozenset({*ROOTED, fabric.ENTRY.kind})
