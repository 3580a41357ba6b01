"""Taking away what sparkops left on nodes: its stopped containers, then what the manifest lists."""

from collections.abc import Callable, Iterator, Mapping

from sparkops.core import manifest
from sparkops.core.facts import Container, Facts, JobFact, Left, Scheduled
from sparkops.core.plan import Action, Command, Phase, Plan, Step
from sparkops.core.situation import state_dir
from sparkops.node_commands import caches, rights, scripts

OWN_JOBS = "cache-"
"""Jobs that end with the engine they watch."""


def compile_cleanup(facts: Mapping[str, Facts]) -> Plan:
    """One node's steps build on each other; one that fails leaves the others' alone, and its manifest."""
    steps = tuple(step for node, known in facts.items() if anything(known) for step in _node(node, known))
    phases = (Phase("clean up", steps),) if steps else ()
    return Plan("cleanup", None, phases, on_failure="drop")


def anything(facts: Facts) -> bool:
    return bool(items(facts))


def items(facts: Facts) -> list[manifest.Entry]:
    """All that would be taken away, as a person is shown it."""
    here = [manifest.Entry("container", one.name) for one in ours(facts)]
    listed = manifest.entries(facts.state.manifest) if isinstance(facts.state, Left) else ()
    return [*here, *_unlisted(facts, listed), *listed]


def ours(facts: Facts) -> list[Container]:
    return [one for one in facts.containers if one.ours]


def jobs(facts: Facts) -> list[JobFact]:
    return [job for job in facts.state.jobs if job.alive] if isinstance(facts.state, Left) else []


def _unlisted(facts: Facts, listed: tuple[manifest.Entry, ...]) -> Iterator[manifest.Entry]:
    """What is there although no manifest says so: an older sparkops, or a manifest that was removed by hand."""
    kinds = {entry.kind for entry in listed}
    if "crontab" not in kinds and isinstance(facts.schedule, Scheduled) and facts.schedule.line:
        yield manifest.Entry("crontab", "cache schedule")
    if not listed and isinstance(facts.state, Left) and (facts.state.keys or facts.state.jobs or facts.state.orphans):
        yield manifest.Entry("folder", state_dir(facts))


def _node(node: str, facts: Facts) -> Iterator[Step]:
    kinds = {entry.kind for entry in items(facts)}
    for one in ours(facts):
        remove = scripts.container("remove", one.name, one.deployment or "", state_dir(facts))
        yield _step(node, f"container.{one.name}", f"remove {one.name}", remove)
    for job in jobs(facts):
        yield _step(node, f"job.{job.id}", f"end {job.id}", scripts.cancel_job(job.id))
    if "crontab" in kinds:
        yield _step(node, "crontab", "remove our crontab entry", caches.unschedule())
    rooted = sorted(kinds & set(ROOTED))
    if rooted:
        yield _step(node, "most", "remove what is listed", scripts.clean(rooted))
        for at, entry in enumerate(items(facts)):
            if entry.kind in ROOTED:
                undo, title = ROOTED[entry.kind](entry.what), f"undo the {entry.title} {entry.what}"
                yield _step(node, f"{entry.kind}-{at}", title, undo)
        yield _step(node, "all", "remove the manifest", scripts.clean())
    else:
        yield _step(node, "all", "remove what is listed", scripts.clean())


ROOTED: Mapping[str, Callable[[str], Command]] = {
    "sudoers": caches.forbid,
    "linger": rights.unlinger,
    "service": rights.stop_service,
}
"""Entries that only root may undo, and how."""


def _step(node: str, name: str, title: str, command: Command) -> Step:
    return Step(f"{name}.{node}", node, title, Action(command))
