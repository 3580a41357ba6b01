"""Inventories: where one is looked for, and what it says. Apart from `load`, as verbs without nodes need none."""

import os
from collections.abc import Iterator
from pathlib import Path

from sparkops.core import inventory_file
from sparkops.core.inventory import Inventory
from sparkops.errors import UsageError
from sparkops.files import recipes


def inventory(path: str | None = None) -> Inventory:
    """The inventory that was named, else the first of the usual places that has one."""
    if path is not None:
        return inventory_file.read(recipes.document(Path(path)))
    places = list(inventory_places())
    for place in places:
        if os.path.isfile(place):
            return inventory_file.read(recipes.document(place))
    raise UsageError(
        f"no inventory: looked for {', '.join(map(str, places))}",
        hint="sparkops init IP… writes one; -i FILE names one; -i lab is the lab's",
    )


def inventory_places() -> Iterator[Path]:
    """Where an inventory is looked for when `-i` does not say; $SPARKOPS_INVENTORY alone decides when it is set."""
    if named := os.environ.get("SPARKOPS_INVENTORY"):
        yield Path(named)
        return
    yield Path("inventories/default.yml")
    yield user_config() / "inventory.yml"


def user_config() -> Path:
    base = os.environ.get("XDG_CONFIG_HOME")
    return (Path(base) if base else Path("~/.config").expanduser()) / "sparkops"
