"""Whether a stopped deployment would find the memory that its engines ask for, which a deploy checks by memory-fits."""

from collections.abc import Mapping, Sequence

from sparkops.checks.memory_fits import free_without
from sparkops.core.facts import Facts
from sparkops.core.sizes import GIB_KIB
from sparkops.errors import Refused
from sparkops.phases.parts import DeployedRevision, deployed_revisions
from sparkops.session.find_deployment import name_or_hash


def short_of_memory(
    facts: Mapping[str, Facts], one: DeployedRevision, stopping: Sequence[DeployedRevision]
) -> Refused | None:
    """The error for a node with less memory than an engine takes at its start, once `stopping` has freed its own."""
    engines = {one.stored.container(member) for member in one.stored.engines}
    for node in (node for node, container in one.kept if container.name in engines):
        memory = facts[node].memory
        free = free_without(memory, [other.stored for other in _running(stopping, node)])
        if memory.total_kib and (need := one.stored.share * memory.total_kib) > free:
            text = f"{one.title} needs {need / GIB_KIB:.1f} GiB on {node}, but {free / GIB_KIB:.1f} GiB is free"
            return Refused(text, node=node, hint=_holders(facts, node, (one, *stopping)))
    return None


def _running(revisions: Sequence[DeployedRevision], node: str) -> list[DeployedRevision]:
    """Those of which a container runs on this node."""
    return [one for one in revisions if node in {place for place, _ in one.running}]


def _holders(facts: Mapping[str, Facts], node: str, but: Sequence[DeployedRevision]) -> str:
    """What to stop: the deployments that keep running on this node; and the way to start it nevertheless."""
    everything = deployed_revisions(facts)
    running = (other for other in _running(everything, node) if other not in but)
    stops = [f"`sparkops stop {name_or_hash(other.stored, everything)}`" for other in running]
    found = f"stop what uses it: {' or '.join(stops)}" if stops else "`sparkops memory` shows what uses it"
    return f"{found}; a new deploy can ignore this: --allow memory-fits"
