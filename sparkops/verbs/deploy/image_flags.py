"""The image's own flags, for a deploy with a flag that sparkops does not know."""

from collections.abc import Mapping
from dataclasses import replace

from sparkops.core.facts import Facts
from sparkops.errors import StepFailed
from sparkops.session.session import Session
from sparkops.verbs.deploy.draft import Draft
from sparkops.verbs.image.flags import known_flags


def with_own_flags(draft: Draft, session: Session, facts: Mapping[str, Facts]) -> Draft:
    """Ask the image before anything stops: an engine exits on a flag that it lacks, and an outage is for nothing.

    An image that does not tell its flags is judged by its name, as before.
    """
    reference, node = draft.effective.image, draft.nodes[0]
    image = facts[node].image(reference)
    if image is None or not any(finding.id == "unknown-flag" for finding in draft.findings):
        return draft
    try:
        flags = known_flags(session, reference, node, image)
    except StepFailed as error:
        session.report.warn(f"the flags of {reference} stay unknown: {error.message}")
        return draft
    return replace(draft, unjudged=replace(draft.unjudged, recipe=replace(draft.unjudged.recipe, flags=flags)))
