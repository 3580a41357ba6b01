"""Inventories: where they are looked for, and reading them. Verbs without nodes do not import this."""

import os
from collections.abc import Iterator
from pathlib import Path

from sparkops.core import inventory_file
from sparkops.core.inventory import Inventory
from sparkops.errors import UsageError
from sparkops.files import recipes


def inventory(path: str | None = None) -> Inventory:
    """The named inventory, else the first that exists in the usual places."""
    if path is not None:
        return inventory_file.read(recipes.document(Path(path)))
    places = list(inventory_places())
    for place in places:
        if os.path.isfile(place):
            return inventory_file.read(recipes.document(place))
    raise UsageError(
        f"no inventory found; sparkops looked for {' and '.join(map(str, places))}",
        hint="write an inventory: `sparkops init IP…`; or name one: -i FILE; or use emulated nodes: -i lab",
    )


def inventory_places() -> Iterator[Path]:
    """Where an inventory is looked for without `-i`; only $SPARKOPS_INVENTORY if it is set."""
    if named := os.environ.get("SPARKOPS_INVENTORY"):
        yield Path(named)
        return
    yield Path("inventories/default.yml")
    yield user_config() / "inventory.yml"


def user_config() -> Path:
    base = os.environ.get("XDG_CONFIG_HOME")
    return (Path(base) if base else Path("~/.config").expanduser()) / "sparkops"
