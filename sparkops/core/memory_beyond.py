"""What engines hold of the GPU's memory beyond the share that they request, as nvidia-smi lists it."""

from collections.abc import Iterator, Mapping

from sparkops.core.facts import Container, Facts, known
from sparkops.core.notes import Load
from sparkops.core.situation import deployed
from sparkops.core.stored import Stored

LOADED = 0.9
"""An engine that holds a smaller part of its share still loads, or needs no KV cache: this measures nothing."""


def measured(facts: Mapping[str, Facts]) -> dict[Load, int]:
    """The most that an engine of these kinds holds on one of the nodes beyond its share, in MiB."""
    found: dict[Load, int] = {}
    for load, beyond in _held(facts):
        found[load] = max(beyond, found.get(load, 0))
    return found


def remembered(facts: Mapping[str, Facts]) -> dict[Load, int]:
    """The same, as the newest note of each node tells it; what serves now may hold more."""
    found = measured(facts)
    for known_node in facts.values():
        notes = (note.load for note in known_node.history.notes if note.load and note.load.beyond_mib is not None)
        for load, beyond in {load: load.beyond_mib or 0 for load in notes}.items():
            found[load] = max(beyond, found.get(load, 0))
    return found


def _held(facts: Mapping[str, Facts]) -> Iterator[tuple[Load, int]]:
    for node, stored, container in deployed(facts):
        if container.runs and (beyond := beyond_mib(stored, container, facts[node])) is not None:
            yield Load(stored.recipe, stored.image, stored.topology, None), beyond


def beyond_mib(stored: Stored, container: Container, facts: Facts) -> int | None:
    """What an engine holds beyond the share that it requests; None if it is not loaded or the driver does not tell."""
    sizes = [one.used_mib for one in known(facts.gpu_processes, ()) if one.container == container.id]
    held, asked = sum(size or 0 for size in sizes), round(stored.asked * facts.memory.total_kib / 1024)
    return None if not sizes or None in sizes or held < LOADED * asked else max(0, held - asked)
