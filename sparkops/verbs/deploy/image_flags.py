"""The image's own flags, for a deploy with a flag or a value that sparkops does not know."""

from collections.abc import Mapping
from dataclasses import replace

from sparkops.core.effective import Overrides, effective
from sparkops.core.facts import Facts
from sparkops.errors import StepFailed
from sparkops.files import recipes
from sparkops.session.session import Session
from sparkops.verbs.deploy.draft import Draft
from sparkops.verbs.deploy.options import PlanOptions
from sparkops.verbs.image.flags import flags_in


def with_own_flags(draft: Draft, options: PlanOptions, session: Session, facts: Mapping[str, Facts]) -> Draft:
    """Ask the image before anything stops: an engine exits on a flag that it lacks, and an outage is for nothing.

    The table is not stored, so that no later run judges by it what another build of the image has. An image that does
    not tell its flags is judged by its name, as before.
    """
    asked, node = draft.unjudged, draft.nodes[0]
    image = facts[node].image(draft.effective.image)
    doubtful = any(finding.id == "unknown-flag" for finding in draft.findings)
    if image is None or not doubtful or asked.own_flags:
        return draft
    try:
        flags = flags_in(session, draft.effective.image, node, image)
    except StepFailed as error:
        session.report.warn(f"the flags of {draft.effective.image} stay unknown: {error.message}")
        return draft
    recipe = recipes.recipe(asked.recipe.target, flags=flags)  # spelled and typed anew, by these flags
    settings = effective(recipe, draft.placement.topology.kind, Overrides(options.sets, options.extra))
    return replace(draft, unjudged=settings)
