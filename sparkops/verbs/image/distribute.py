"""`image distribute`: copy one image to all nodes, from node to node."""

from collections.abc import Mapping, Sequence
from typing import Any

from sparkops.core.build import job_id
from sparkops.core.copying import COPY_STALL, Hop
from sparkops.core.facts import Facts
from sparkops.core.facts.images import Image
from sparkops.core.facts.reading import known
from sparkops.core.image_sources import copy_newest, image_source
from sparkops.core.plan import Phase, Plan
from sparkops.core.schema import did_you_mean
from sparkops.core.sizes import gb
from sparkops.errors import Refused, StepFailed, UsageError
from sparkops.phases.copies import Copy, awaited, compile_copy
from sparkops.phases.images import running
from sparkops.phases.sudo import with_sudo
from sparkops.report.answer import Answer
from sparkops.report.report import Report
from sparkops.session.execute import follow_job
from sparkops.session.open import reached
from sparkops.session.session import Session
from sparkops.session.transfer_routes import clear, give_keys, transfer_routes
from sparkops.verbs.image.node_images import facts_by_node
from sparkops.verbs.image.options import DistributeOptions

SPARE = 2_000_000_000
"""Bytes to leave free in addition to what unpacking needs."""


def distribute(options: DistributeOptions, report: Report) -> Answer:
    """Copy the image to every selected node that lacks it."""
    if "@" in options.image:
        plain = options.image.partition("@")[0]
        raise UsageError(
            f"{options.image}: a copied image has no digest, so name it without one",
            hint=f"run `sparkops image pull {options.image}`, then `sparkops image distribute {plain}`",
        )
    with reached(options.where, report) as session:
        names = list(session.names)
        return Answer(ensure_everywhere(session, options.image, names, options.source, options.stall))


def ensure_everywhere(
    session: Session, image: str, names: Sequence[str], source: str | None = None, stall: float = COPY_STALL
) -> dict[str, Any]:
    """Copy until all nodes have it; tries again only after progress. Raises unless all have it."""
    if source is not None and source not in names:
        raise UsageError(f"--from {source} is not one of the selected nodes{did_you_mean(source, names)}")
    made: list[Hop] = []
    before = -1
    while True:
        facts = facts_by_node(session, names, [image])
        origin = _origin(image, facts, source)
        complete = frozenset(n for n, found in facts.items() if _fingerprint(found, image) == origin.fingerprint)
        document = _document(image, origin, facts, made, complete)
        clear(session, facts)
        if len(complete) == len(facts):
            return document
        job = job_id("copy", image, origin.fingerprint)
        going = tuple(name for name in names if job in running(facts[name]))
        try:
            if going:
                session.report.note(f"the job {job} already runs on {', '.join(going)}; following it")
                steps = tuple(awaited(job, image, going, int(stall)))
                _follow(Plan("image distribute", None, (Phase("copy the image", steps),)), session, job)
            else:
                chains = transfer_routes(session, names, complete, facts)
                for hop in (hop for chain in chains for hop in chain):
                    room(hop.receiver, facts[hop.receiver], origin.size_bytes)
                give_keys(session, chains)
                copy = Copy(job, image, origin.size_bytes, chains, int(stall), {})
                made += copy.hops
                _follow(compile_copy(copy, facts), session, job)
        except StepFailed as error:
            # An interrupted run may have begun the receivers but no sender: a copy that it left does not count.
            before = _progress(session, image, names, origin, -1 if going else max(before, len(complete)), error)


def _progress(session: Session, image: str, names: Sequence[str], origin: Image, before: int, error: StepFailed) -> int:
    """Return how many nodes have it after a failure; raises the failure without progress, or if a disk is too small."""
    facts = facts_by_node(session, names, [image])
    lacking = [name for name, found in facts.items() if _fingerprint(found, image) != origin.fingerprint]
    clear(session, facts)
    full = [told for name in lacking if (told := too_small(name, facts[name], origin.size_bytes))]
    if lacking and (full or len(facts) - len(lacking) <= before):
        error.message = "; ".join((error.message, *full))
        raise error
    if lacking:
        session.report.warn("some nodes did not get the image; trying again from the nearest node that has it")
    return len(facts) - len(lacking)


def _follow(plan: Plan, session: Session, job: str) -> None:
    advice = f"run the command again (it skips nodes that have the image); log: `sparkops jobs logs {job}`"
    follow_job(with_sudo(plan, session.sudo), session, job, lambda _: advice)


def _origin(image: str, facts: Mapping[str, Facts], source: str | None) -> Image:
    """Return the image to copy; if nodes have different ones, `--from` must choose."""
    here = {name: one for name, found in facts.items() if (one := found.image(image)) is not None}
    if not here:
        raise Refused(f"no node has the image {image}", hint=image_source(image).command)
    newest = f"copy the newest build: `{copy_newest(image, {name: one.created for name, one in here.items()})}`"
    if source is not None:
        if source not in here:
            raise Refused(f"{source} has no image {image}", node=source, hint=newest)
        return here[source]
    if len({one.fingerprint for one in here.values()}) > 1:
        which = ", ".join(f"{name} (built {one.created[:16].replace('T', ' ')})" for name, one in here.items())
        raise Refused(f"the nodes have different images named {image}: {which}", hint=newest)
    return next(iter(here.values()))


def _fingerprint(facts: Facts, image: str) -> str | None:
    found = facts.image(image)
    return found.fingerprint if found else None


def room(node: str, facts: Facts, size: int) -> None:
    """Refuse if the node's disk is too small to load the image."""
    if message := too_small(node, facts, size):
        hint = "free space: `sparkops image prune`, `sparkops model prune`"
        raise Refused(message, node=node, hint=hint)


def too_small(node: str, facts: Facts, size: int) -> str:
    """Return need and free space if the disk is too small: Docker holds the archive and the unpacked image at once."""
    disk = known(facts.disk, {}).get("docker")
    need = 2 * size + SPARE
    if disk is None or disk.free_kib * 1024 >= need:
        return ""
    have = disk.free_kib * 1024
    return f"{node} needs {gb(need)} free on {disk.mount} during the copy, but has {gb(have)}"


def _document(
    image: str, origin: Image, facts: Mapping[str, Facts], made: Sequence[Hop], complete: frozenset[str]
) -> dict[str, Any]:
    return {
        "image": image,
        "fingerprint": origin.fingerprint,
        "size_bytes": origin.size_bytes,
        "changed": bool(made),
        "nodes": [name for name in facts if name in complete],
        "copies": [
            {
                "from": hop.sender,
                "to": hop.receiver,
                "address": hop.address,
                "over": "fabric" if hop.fabric else "management",
            }
            for hop in made
        ],
    }
