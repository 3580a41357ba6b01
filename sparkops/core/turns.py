"""Which copies of a model a deploy replaces one after the other, so that their endpoint continues to answer."""

from dataclasses import replace

from sparkops.core.situation import Situation, deployed, key_path
from sparkops.core.stored import Stored
from sparkops.core.topology import Placement


def turns(s: Situation) -> tuple[Situation, ...]:
    """The situation of each copy, then of each proxy; the whole one if all is replaced at once.

    The proxy that runs routes to the new servers as to the old ones. A copy whose old servers serve comes last, so a
    new one that still loads is waited for before that.
    """
    before = replaced_in_turns(s)
    up = {
        (node, one.role)
        for node, stored, one in deployed(s.facts)
        if before and stored.hash == before.hash and one.state == "running" and not one.gave_up
    }

    def serves(copy: Placement) -> bool:
        kept = all(s.todo(one) == "keep" for one in replace(s, placement=copy).members)
        silent = any(one.node.name in s.mute for one in copy.places)
        return not kept and not silent and all((one.node.name, one.role) in up for one in copy.places)

    copies = sorted(s.placement.copies, key=serves)
    if before is None or not serves(copies[-1]):
        return (s,)
    return tuple(replace(s, placement=one) for one in (*copies, *s.placement.fronts))


def rounds(s: Situation) -> int:
    """How many loads of the model follow each other: one for each copy that loads, or one for all."""
    loading = [one for one in turns(s) if any(s.todo(member) != "keep" for member in one.engines)]
    return max(1, len(loading))


def replaced_in_turns(s: Situation) -> Stored | None:
    """What this deploy replaces, if the proxy of that reaches the new servers, too; None if all goes at once.

    It is one revision of this deployment that has answered, at the same places, with the same model name and key. With
    `--refresh` it may be the revision itself.
    """
    if s.choices.at_once or len(s.placement.copies) < 2 or all(s.todo(one) == "keep" for one in s.revision.members):
        return None
    gone = {stored.hash for _, stored, _ in s.replaced} or ({s.revision.hash} if s.choices.refresh else set())
    found = [(node, one, it) for node, one, it in deployed(s.facts) if it.runs and one.hash in gone]
    if len(gone) != 1 or not found or gone & s.unproven:
        return None
    own = all(it.key_file in (None, key_path(s.facts[node])) for node, _, it in found)
    return found[0][1] if own and _alike(s, found[0][1]) else None


def _alike(s: Situation, before: Stored) -> bool:
    new = s.revision
    keys = {s.facts[member.name].key_digest for member in new.members if member.port is not None}
    return (
        new.deployment == before.deployment
        and tuple((one.name, one.role, one.port) for one in new.members) == before.places
        and new.served == before.served
        and bool(new.without_key) == before.without_key
        and (bool(new.without_key) or keys == {s.key_digest})
    )
