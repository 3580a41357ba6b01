"""Names of deployments that a run saw on an inventory's nodes, so that Tab completes them without a connection."""

import contextlib
from collections.abc import Iterable, Mapping

from sparkops.errors import UsageError
from sparkops.files import state

KIND = "deployments"


def seen(inventory: str) -> list[str]:
    """The names that the last runs saw."""
    return sorted({name for names in _read(inventory).values() for name in names})


def where(inventory: str, name: str) -> tuple[str, ...]:
    """The nodes on which the last runs saw this deployment."""
    return tuple(node for node, names in _read(inventory).items() if name in names)


def note(inventory: str, found: Mapping[str, Iterable[str]]) -> None:
    """Remember the deployments of these nodes; those of other nodes stay. A full disk does not matter."""
    before = _read(inventory)
    after = before | {node: sorted(set(names)) for node, names in found.items()}
    if after != before:
        with contextlib.suppress(UsageError):
            state.write_json(KIND, state.of_inventory(inventory), after)


def add(inventory: str, nodes: Iterable[str], name: str) -> None:
    """Remember that this deployment is on these nodes now."""
    before = _read(inventory)
    note(inventory, {node: [*before.get(node, ()), name] for node in nodes})


def _read(inventory: str) -> dict[str, list[str]]:
    known = state.read(KIND, state.of_inventory(inventory))
    return known if isinstance(known, dict) else {}
