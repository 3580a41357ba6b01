"""The nodes that failed in the last play on the nodes of an inventory, for `--limit @last-failed`."""

from collections.abc import Iterable

from sparkops.files import state

KIND = "plays"


def nodes(inventory: str) -> list[str]:
    """Their names; another inventory may have other machines under these names."""
    known = state.read(KIND, state.of_inventory(inventory))
    return [str(name) for name in known] if isinstance(known, list) else []


def keep(inventory: str, names: Iterable[str]) -> None:
    """Remember these nodes in place of those before; raises UsageError."""
    state.write_json(KIND, state.of_inventory(inventory), list(names))
