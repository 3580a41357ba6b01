"""The API keys of a fleet: deployments that share a node have one key, because the file of the key is the node's."""

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace

from sparkops.core.plan import Plan, Secret
from sparkops.phases.gateway import NEW_KEY, UNKNOWN, content
from sparkops.phases.prepare import secret_of
from sparkops.session.api_key import digest, new_key, old_keys, own_key
from sparkops.session.session import Session
from sparkops.verbs.fleet.parts import FleetPart


def with_common_keys(
    parts: Sequence[FleetPart], before: Mapping[str, str], session: Session, *, one_address: bool
) -> list[FleetPart]:
    """The parts with the key of their group: one that was given, else one that is there, else one that they had before.

    `before` are the digests of the keys with which they serve now. With none of these, it is that of the fleet. With
    `one_address`, those that serve one model name also have one key, because they answer in turn.
    """
    found: dict[str, FleetPart] = {}
    theirs = [one.situation.key_digest for one in parts if one.situation.key_digest not in ("", NEW_KEY)]
    for group in _groups([one for one in parts if not one.situation.revision.without_key], one_address=one_address):
        told = {session.secrets.get(secret_of(one.name).name): one.situation.key_digest for one in group}
        text = next(filter(None, told), None)
        had = (before.get(one.name, "") for one in group)
        digest = told[text] if text else next(filter(None, (*_there(group), *had, *theirs)), NEW_KEY)
        for one in group:
            if text:
                session.secrets[secret_of(one.name).name] = text
            found[one.name] = replace(one, situation=replace(one.situation, key_digest=digest))
    return [found.get(one.name, one) for one in parts]


def secrets_of(
    parts: Iterable[FleetPart], plan: Plan, routes: Iterable[str], session: Session, routed: Container[str]
) -> dict[str, str]:
    """What the plan's steps name: keys, and those of the endpoint's `routes` that have the digest of a new key.

    Deployments that have no key yet get the same new one. The endpoint is sent the keys of those that are `routed`.
    """
    fresh, found = new_key(), dict[str, str]()
    for text in routes:
        if isinstance(hidden := content(text), Secret):
            found[hidden.name] = text.replace(UNKNOWN, UNKNOWN.replace(NEW_KEY, digest(fresh)))
    keyed = (one for one in parts if not one.situation.revision.without_key)
    for part in (one for one in keyed if one.changes or one.name in routed):
        facts, name = part.situation.facts, secret_of(part.name).name
        found |= old_keys(session, facts, plan)
        having = (node for node, known in facts.items() if known.key_digest == part.situation.key_digest)
        holder = next(having, None)
        found[name] = session.secrets.get(name) or (own_key(session, facts, holder) if holder else fresh)
    return found


def _there(group: Sequence[FleetPart]) -> list[str]:
    """The digests of the keys on the nodes of the group, those first that something unchanged reads."""
    first = sorted(group, key=lambda part: part.changes)
    fronts = [(part, member.name) for part in first for member in part.situation.revision.members if member.port]
    return [part.situation.facts[node].key_digest for part, node in fronts]


def _groups(parts: Iterable[FleetPart], *, one_address: bool) -> list[list[FleetPart]]:
    """The parts that share nodes, or with `one_address` a model name, directly or through others."""

    def near_to(one: FleetPart, other: FleetPart) -> bool:
        named = one_address and one.situation.revision.served == other.situation.revision.served
        return named or bool(one.nodes & other.nodes)

    groups: list[list[FleetPart]] = []
    for part in parts:
        near = [group for group in groups if any(near_to(part, other) for other in group)]
        groups = [group for group in groups if group not in near] + [[*(one for it in near for one in it), part]]
    return groups
