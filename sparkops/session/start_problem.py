"""Why a deployment could not start again, found before anything of it is stopped."""

import re
from collections.abc import Mapping
from dataclasses import replace

from sparkops.core.facts import Facts, Unread
from sparkops.core.facts.models import Model
from sparkops.core.facts.reading import mapping
from sparkops.core.situation import reads_home_key
from sparkops.errors import Refused
from sparkops.phases.parts import DeployedRevision, cut_off, deployed_revisions, unlike_keys
from sparkops.session.find_deployment import again, current, name_or_hash
from sparkops.session.session import Session

SETTLED = 600.0
"""Seconds after a boot by which the links of a node are up."""
CACHES = {"HF_HOME", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "download-dir"}
"""Variables and flags by which an engine looks for its model elsewhere."""
LINK_DOWN = "the CX7 link of {} is down: {}"
LINK = "check the cable at both ends; then: `sparkops preflight --only cx7-usable`"
UNLIKE_KEYS = "the API keys on {} differ"
ONE_KEY = "give them one key: `sparkops key rotate --deployment {}`"


def start_problem(
    session: Session,
    facts: Mapping[str, Facts],
    one: DeployedRevision,
    *,
    any_key: bool = False,
) -> Refused | None:
    """The error for a link that is down, a model that is gone or keys that differ; None if nothing is known against it.

    With `any_key`, the keys of now do not matter.
    """
    return (
        _link(session, facts, one) or _model(session, facts, one) or (None if any_key else _keys(session, facts, one))
    )


def _keys(session: Session, facts: Mapping[str, Facts], one: DeployedRevision) -> Refused | None:
    """Keys that differ, where `key rotate` can mend it: for what runs in part, or would be started next."""
    return _unlike(facts, one) if one.runs or one in current(facts, session.names) else None


def warn_of_unlike_keys(session: Session, facts: Mapping[str, Facts], one: DeployedRevision) -> None:
    """Say that what was stopped comes back with keys that differ: its proxy then gets no answer from some servers."""
    if problem := _unlike(facts, one):
        session.report.warn(f"{problem.message}; {problem.hint}")


def _unlike(facts: Mapping[str, Facts], one: DeployedRevision) -> Refused | None:
    nodes = unlike_keys(one, facts)
    if not nodes:
        return None
    typed = name_or_hash(one.stored, deployed_revisions(facts))
    text = f"{one.title}: {UNLIKE_KEYS.format(' and '.join(nodes))}"
    return Refused(text, node=nodes[0], hint=ONE_KEY.format(typed))


def _link(session: Session, facts: Mapping[str, Facts], one: DeployedRevision) -> Refused | None:
    """A cluster with a link that cannot be used: its nodes would wait for each other.

    None soon after a boot of one of them, when the link may still come up.
    """
    known = [facts[member.name] for member in one.stored.members if member.name in facts]
    if any(not isinstance(it.clock, Unread) and it.clock.seconds - it.booted < SETTLED for it in known):
        return None
    node, reason = next(iter(cut_off(one.stored, facts).items()), ("", ""))
    hint = f"{LINK}; if its address has changed, {again(session, one.stored, deployed_revisions(facts))}"
    return Refused(f"{one.title}: {LINK_DOWN.format(node, reason)}", node=node, hint=hint) if node else None


def _model(session: Session, facts: Mapping[str, Facts], one: DeployedRevision) -> Refused | None:
    """A model whose files are gone from the cache of a node; what serves has it in memory and does not miss it.

    Judged only if they were all there at the deploy, which then noted their commit, and where the container looks.
    """
    model = one.stored.models[0]
    elsewhere = CACHES & {*mapping(one.stored.data.get("env")), *mapping(one.stored.data.get("args"))}
    if not re.fullmatch(r"[0-9a-f]{40}", model.revision) or elsewhere:
        return None
    asked = {}
    for member in one.stored.engines:
        own = (member.name, one.stored.container(member))
        for node, container in one.parts:
            if (node, container.name) == own and (not container.key_file or reads_home_key(facts[node], container)):
                there = replace(session.nodes[node], cache_dir=member.cache_dir)
                asked[node] = session.facts_command(there, models=[str(model)], only=("model",))
    read = {name: known.model for name, known in session.read(asked).items()}
    lacking = [name for name, it in read.items() if isinstance(it, Model) and not it.complete]
    text = f"{one.title}: the model {model} is not complete on {', '.join(lacking)}"
    return Refused(text, node=lacking[0], hint=f"get it: `sparkops model fetch {model}`") if lacking else None
