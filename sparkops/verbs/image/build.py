"""`image build`: one image on one node, as a background job that survives a lost connection."""

from typing import Any

from sparkops.core import build as building
from sparkops.core.build import LABEL
from sparkops.core.facts import Facts
from sparkops.core.facts.images import Image
from sparkops.core.image_sources import image_source
from sparkops.errors import Refused, StepFailed
from sparkops.phases.images import CONTEXT, Building, compile_build, running
from sparkops.phases.sudo import with_sudo
from sparkops.report.answer import Answer
from sparkops.report.report import Report
from sparkops.session.execute import follow_job
from sparkops.session.open import connected, selected
from sparkops.session.session import Session
from sparkops.verbs.image.build_inputs import BuildSource, wanted
from sparkops.verbs.image.node_images import described, facts_of, one_of
from sparkops.verbs.image.options import BuildOptions


def build(options: BuildOptions, report: Report) -> Answer:
    """Send the context and follow the build; an image of equal inputs is not built again.

    Raises UsageError (exit 2) before a node is asked, then Refused (3), Unreachable (4) or StepFailed (5).
    """
    chosen = selected(options.where, report)
    source = wanted(options)
    with connected(chosen, report) as session:
        node = one_of(session, options.node)
        return Answer(ensure_built(session, source, node, force=options.force))


def ensure_built(session: Session, source: BuildSource, node: str, *, force: bool = False) -> dict[str, Any]:
    """Build the image from these inputs if needed; raises unless the node then has it."""
    image = source.build.image
    facts = facts_of(session, node, image, *filter(None, (source.base,)))
    there = facts.image(image)
    if source.base and facts.image(source.base) is None:
        hint = image_source(source.base).command
        raise Refused(f"{node} has no base image {source.base}", node=node, hint=hint)
    job = Building(source.build, node, source.digest)
    document = {"image": image, "node": node, "job": job.job, "inputs": job.digest}
    if there and there.labels.get(LABEL) == job.digest and not force:
        return {**document, "changed": False, **described(there)}
    _no_other(facts, job)
    if source.context:
        session.secrets[CONTEXT.name] = source.context.content
    follow_job(with_sudo(compile_build(job, facts), session.sudo), session, job.job)
    return {**document, "changed": True, **described(_made(session, node, image, job.digest))}


def _no_other(facts: Facts, wanted: Building) -> None:
    """Refuse if the node builds this name from other inputs."""
    others = [job for job in running(facts) if job.startswith(f"{building.job_id('build', wanted.build.image)}-")]
    for job in others:
        if job != wanted.job and len(job) == len(wanted.job):
            raise Refused(
                f"{wanted.node} already builds {wanted.build.image} from other files or arguments ({job})",
                node=wanted.node,
                hint=f"wait for it: `sparkops jobs wait {job}`, or end it: `sparkops jobs cancel {job}`",
            )


def _made(session: Session, node: str, image: str, digest: str) -> Image:
    found = facts_of(session, node, image).image(image)
    if found is None or found.labels.get(LABEL) != digest:
        what = "is missing" if found is None else "was then replaced by another program"
        raise StepFailed(f"{node}: the build succeeded, but {image} {what}", node=node, step="build the image")
    return found
