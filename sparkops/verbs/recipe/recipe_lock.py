"""`recipe lock` and `recipe verify`: record what runs, and compare it with such a record."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from sparkops import __version__
from sparkops.core import lockfile
from sparkops.core.facts import Container, Facts, known
from sparkops.core.facts.images import Image
from sparkops.core.facts.models import Model
from sparkops.core.facts.raw import Unread
from sparkops.core.lockfile import NodeLock, RecipeLock
from sparkops.errors import Refused
from sparkops.files import own_files, recipes
from sparkops.phases.parts import DeployedRevision
from sparkops.report.answer import Answer
from sparkops.report.report import Report
from sparkops.session.find_deployment import find_deployment
from sparkops.session.open import reached
from sparkops.session.session import Session
from sparkops.verbs.recipe.options import LockOptions, VerifyOptions


def lock(options: LockOptions, report: Report) -> Answer:
    """Record what runs, with all that benchmark results depend on."""
    with reached(options.where, report) as session:
        found = running(session, options.deployment)
    document = found.document
    if options.output is None:
        return Answer({"lock": document, "file": None})
    own_files.write(Path(options.output), json.dumps(document, indent=2) + "\n")
    return Answer({"lock": document, "file": options.output})


def verify(options: VerifyOptions, report: Report) -> Answer:
    """Compare what runs with a lock."""
    wanted = lockfile.read(recipes.document(Path(options.file)))
    with reached(options.where, report) as session:
        now = running(session, wanted.deployment)
    found = lockfile.changes(wanted, now, frozenset(options.ignore))
    document = {
        "deployment": wanted.deployment,
        "locked": wanted.locked,
        "hash": {"locked": wanted.hash, "now": now.hash},
        "changes": [{**asdict(one), "text": str(one)} for one in found],
        "ignored": list(options.ignore),
        "equal": not found,
    }
    named = next((one.what for one in found if one.what in lockfile.IGNORABLE), None)
    way_on = (
        f"accept a difference with --ignore {named}" if named else "write a new one: `sparkops recipe lock -o FILE`"
    )
    count = f"{len(found)} thing{'s' if len(found) > 1 else ''} changed"
    told = f"{wanted.deployment} differs from the lock file: {count}, so old benchmarks no longer apply"
    error = Refused(told, hint=way_on) if found else None
    return Answer(document, error=error)


def running(session: Session, deployment: str | None) -> RecipeLock:
    """Read the running deployment, then the facts of its images and model."""
    revision = find_deployment(session, session.containers(), deployment)
    if not revision.runs:
        raise Refused(f"{revision.title} does not run", hint="see what runs: `sparkops status`")
    session.require(member.name for member in revision.stored.members)
    parts = {node: part for node, part in revision.running if part.role != "proxy"}
    images = sorted({part.image_id for part in parts.values() if part.image_id})
    facts = session.facts(images=images, models=[str(name) for name in revision.stored.models])
    session.require(parts)
    return _lock(revision, parts, facts)


def _lock(revision: DeployedRevision, parts: Mapping[str, Container], facts: Mapping[str, Facts]) -> RecipeLock:
    return RecipeLock(
        deployment=revision.stored.deployment,
        hash=revision.stored.hash,
        sparkops=__version__,
        revision=revision.stored.data,
        nodes={node: _node(part, facts[node]) for node, part in sorted(parts.items())},
        locked=datetime.now(UTC).date().isoformat(),
    )


def _node(part: Container, facts: Facts) -> NodeLock:
    image = facts.image(part.image_id) if part.image_id else None
    return NodeLock(
        role=part.role or "?",
        image=image.fingerprint if isinstance(image, Image) else None,
        model=facts.model.revision if isinstance(facts.model, Model) else None,
        models=_revisions(known(facts.models, {})) or None,
        driver=None if isinstance(facts.driver, Unread) else facts.driver.loaded,
        kernel=None if isinstance(facts.uname, Unread) else facts.uname.release,
        spec=part.spec,
    )


def _revisions(models: Mapping[str, Model | Unread]) -> dict[str, str]:
    return {name: one.revision for name, one in models.items() if isinstance(one, Model) and one.revision}
