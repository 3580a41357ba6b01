"""`image pull`: one image on one node, as a background job that survives a lost connection."""

from typing import Any

from sparkops.core import build as building
from sparkops.core.proxy_image import DEFAULT, called
from sparkops.errors import StepFailed, UsageError
from sparkops.phases.images import PASSWORD, compile_pull
from sparkops.phases.sudo import with_sudo
from sparkops.report.answer import Answer
from sparkops.report.report import Report
from sparkops.session.execute import follow_job
from sparkops.session.open import connected, selected
from sparkops.session.session import Session
from sparkops.verbs.image.node_images import described, facts_of, one_of
from sparkops.verbs.image.options import PullOptions


def pull(options: PullOptions, report: Report) -> Answer:
    reference, tag = references(options.image)
    chosen = selected(options.where, report)
    with connected(chosen, report) as session:
        report.hide(options.password)
        session.secrets[PASSWORD.name] = options.password or ""
        node = one_of(session, options.node)
        return Answer(ensure_pulled(session, reference, tag, node, options.user))


def ensure_pulled(session: Session, reference: str, tag: str, node: str, user: str | None = None) -> dict[str, Any]:
    """Pull the registry's current image; one named by digest is not pulled again."""
    facts = facts_of(session, node, *filter(None, (reference, tag)))
    there = facts.image(tag or reference)
    document = {"image": tag or reference, "reference": reference, "node": node}
    if "@" in reference and there and reference in there.digests:
        return {**document, "changed": False, **described(there)}
    job = building.job_id("pull", reference)
    plan = compile_pull(node, facts, reference, tag, _registry(reference), user)
    follow_job(with_sudo(plan, session.sudo), session, job)
    after = facts_of(session, node, tag or reference).image(tag or reference)
    if after is None:
        raise StepFailed(
            f"{node}: {reference} was pulled, but Docker does not list it", node=node, step="pull the image"
        )
    return {**document, "job": job, "changed": there is None or there.id != after.id, **described(after)}


def references(name: str) -> tuple[str, str]:
    """Return what to pull and an additional tag: `NAME:TAG@DIGEST` is also tagged NAME:TAG, as on other nodes."""
    plain, at, _ = name.partition("@")
    if not plain or name.startswith("-") or any(mark.isspace() for mark in name):
        raise UsageError(f"{name!r} is not an image name", hint=f"example: {called(DEFAULT)}")
    if not at:
        return name, ""
    tagged = plain if ":" in plain.rpartition("/")[2] else f"{plain}:latest"
    repository = tagged.rpartition(":")[0]
    return f"{repository}@{name.partition('@')[2]}", tagged


def _registry(reference: str) -> str:
    """Return the registry host of an image name; empty for Docker Hub."""
    first, slash, _ = reference.partition("/")
    return first if slash and ("." in first or ":" in first or first == "localhost") else ""
