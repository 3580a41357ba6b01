"""Why a deployment could not start again, found before anything of it is stopped."""

from collections.abc import Mapping

from sparkops.core.facts import Facts, Unread
from sparkops.core.facts.models import Model
from sparkops.errors import Refused
from sparkops.phases.parts import DeployedRevision, cut_off
from sparkops.session.find_deployment import again
from sparkops.session.session import Session

SETTLED = 600.0
"""Seconds after a boot by which the links of a node are up."""
LINK_DOWN = "the CX7 link of {} is down: {}"
LINK = "check the cable at both ends; then: `sparkops preflight --only cx7-usable`"


def start_problem(session: Session, facts: Mapping[str, Facts], one: DeployedRevision) -> Refused | None:
    """The error for a link that is down or a model that is gone; None if nothing is known against its start."""
    return _link(session, facts, one) or _model(session, one)


def _link(session: Session, facts: Mapping[str, Facts], one: DeployedRevision) -> Refused | None:
    """A cluster with a link that cannot be used: its nodes would wait for each other.

    None soon after a boot of one of them, when the link may still come up.
    """
    known = [facts[member.name] for member in one.stored.members if member.name in facts]
    if any(not isinstance(it.clock, Unread) and it.clock.seconds - it.booted < SETTLED for it in known):
        return None
    node, reason = next(iter(cut_off(one.stored, facts).items()), ("", ""))
    hint = f"{LINK}; if its address has changed, {again(session, one.stored)}"
    return Refused(f"{one.title}: {LINK_DOWN.format(node, reason)}", node=node, hint=hint) if node else None


def _model(session: Session, one: DeployedRevision) -> Refused | None:
    """A model of the hub that is not in the cache of a node; what serves has it in memory and does not miss it."""
    model = one.stored.models[0]
    if model.local:  # it may be part of the image
        return None
    facts = session.facts(models=[str(model)], only=("models",))
    found = ((member.name, facts[member.name].model) for member in one.stored.engines if member.name in facts)
    lacking = [name for name, it in found if isinstance(it, Model) and (not it.present or it.broken)]
    text = f"{one.title}: the model {model} is not complete on {', '.join(lacking)}"
    return Refused(text, node=lacking[0], hint=f"get it: `sparkops model fetch {model}`") if lacking else None
