"""What engines hold of the GPU's memory beyond the share that they request, as nvidia-smi lists it."""

from collections.abc import Mapping
from dataclasses import replace

from sparkops.core.facts import Container, Facts, known
from sparkops.core.notes import Load
from sparkops.core.situation import deployed
from sparkops.core.stored import Stored

LOADED = 0.9
"""An engine that holds a smaller part of its share still loads, or needs no KV cache: this measures nothing."""


def one_copy(load: Load) -> Load:
    """What engines that hold the same have in common: recipe, image, and the topology of one copy."""
    return replace(load, topology=load.topology.rpartition("x-")[2])


def kind_of(stored: Stored) -> Load:
    return one_copy(Load(stored.recipe, stored.image, stored.topology, None))


def measured(facts: Mapping[str, Facts]) -> dict[Load, int]:
    """The most that a loaded engine of a kind (`one_copy`) holds on one of the nodes beyond its share, in MiB."""
    found: dict[Load, int] = {}
    for node, stored, container in deployed(facts):
        beyond = beyond_mib(stored, container, facts[node])
        if beyond is not None:
            kind = kind_of(stored)
            found[kind] = max(beyond, found.get(kind, 0))
    return found


def remembered(facts: Mapping[str, Facts]) -> dict[Load, int]:
    """The same as the histories tell: the last value that each node has, and of these the largest."""
    found: dict[Load, int] = {}
    for node in facts.values():
        loads = [note.load for note in sorted(node.history.notes, key=lambda note: note.at) if note.load]
        told = {one_copy(one): one.beyond_mib for one in loads if one.beyond_mib is not None}
        found = {kind: max(told.get(kind, 0), found.get(kind, 0)) for kind in {**found, **told}}
    return found


def beyond_mib(stored: Stored, container: Container, facts: Facts) -> int | None:
    """What a running engine holds beyond the share that it requests.

    None if it is not loaded, if the driver or the node does not tell, or if the recipe gives the size of the KV cache:
    then the share says nothing of what it holds.
    """
    sizes = [one.used_mib for one in known(facts.gpu_processes, ()) if one.container == container.id]
    held, asked = sum(size or 0 for size in sizes), round(stored.share * facts.memory.total_kib / 1024)
    if not container.runs or not asked or None in sizes or held < LOADED * asked or stored.cache_is_given:
        return None
    return max(0, held - asked)
