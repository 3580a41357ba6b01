"""What a deploy that was done should still say."""

from __future__ import annotations

from sparkops.core.revision import SPEC
from sparkops.core.situation import Situation
from sparkops.phases.orphans import missing


def older(situation: Situation) -> list[str]:
    """What was left serving although this sparkops would start it differently."""
    found = {m.name: situation.existing(m) for m in situation.revision.members if situation.todo(m) == "keep"}
    names = [name for name, container in found.items() if container and (container.spec or 0) < SPEC]
    told = "was started by an older sparkops and left as it is; --refresh replaces it"
    return [f"{', '.join(names)}: {told}"] if names else []


def out_of_reach(situation: Situation) -> list[str]:
    """What was replaced but may still run, because its node did not answer."""
    replaced = {stored.hash: stored for _, stored, _ in situation.replaced}
    return [
        f"{member.name} did not answer and may still run {stored.container(member)}; the next run to reach it ends that"
        for stored in replaced.values()
        for member in missing(situation.facts, stored)
    ]
