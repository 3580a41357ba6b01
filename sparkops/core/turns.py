"""Which copies of a model a deploy replaces one after the other, so that their endpoint continues to answer."""

from dataclasses import replace

from sparkops.core.situation import Situation, deployed
from sparkops.core.stored import Stored
from sparkops.core.topology import Placement


def turns(s: Situation) -> tuple[Situation, ...]:
    """The situation of each copy, then of each proxy; the whole one if all is replaced at once.

    The proxy that runs routes to the new servers as to the old ones. Copies that do not serve come first.
    """
    before = None if s.choices.at_once or not s.revision.proxies else _before(s)
    if before is None or not _alike(s, before):
        return (s,)
    up = {
        (node, one.role)
        for node, stored, one in deployed(s.facts)
        if stored.hash in (before.hash, s.revision.hash) and one.state == "running" and not one.gave_up
    }

    def serves(copy: Placement) -> bool:
        return all((one.node.name, one.role) in up for one in copy.places)

    copies = sorted(s.placement.copies, key=serves)
    if not serves(copies[-1]):
        return (s,)
    return tuple(replace(s, placement=one) for one in (*copies, *s.placement.fronts))


def rounds(s: Situation) -> int:
    """How many loads of the model follow each other: one for each copy, or one for all."""
    return len(s.placement.copies) if len(turns(s)) > 1 else 1


def _before(s: Situation) -> Stored | None:
    """What this deploy replaces, if that is one revision of the same deployment that has answered.

    That is the revision itself where only its containers are replaced (`--refresh`).
    """
    gone = {stored.hash for _, stored, _ in s.replaced} or ({s.revision.hash} if s.choices.refresh else set())
    found = {one.hash: one for _, one, container in deployed(s.facts) if container.runs and one.hash in gone}
    known = [one for one in found.values() if one.deployment == s.revision.deployment and one.hash not in s.unproven]
    return known[0] if len(known) == len(gone) == 1 else None


def _alike(s: Situation, before: Stored) -> bool:
    """Whether the proxy that runs reaches the new servers: at the same places, by the same model name and key."""
    new = s.revision
    keys = {s.facts[member.name].key_digest for member in new.members if member.port is not None}
    return (
        [(one.name, one.role, one.port) for one in new.members]
        == [(one.name, one.role, one.port) for one in before.members]
        and new.served == before.served
        and bool(new.without_key) == before.without_key
        and (bool(new.without_key) or keys == {s.key_digest})
    )
