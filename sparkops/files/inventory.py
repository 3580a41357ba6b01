"""Inventories: where they are looked for, and reading them. Verbs without nodes do not import this."""

import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

from sparkops.core import inventory_file
from sparkops.core.inventory import Inventory
from sparkops.core.schema import nearest, one_line
from sparkops.errors import UsageError
from sparkops.files import recipes

_INI = re.compile(rb"^\[[\w.:-]+\]?\s*$", re.MULTILINE)
"""The head of a group, also without its end."""


def inventory(path: str | None = None) -> Inventory:
    """The named inventory, else the first that exists in the usual places."""
    if path is not None:
        return _read(Path(path))
    if place := usual_place():
        return _read(place)
    places = list(inventory_places())
    raise UsageError(
        f"no inventory found; sparkops looked for {' and '.join(map(str, places))}",
        hint="write an inventory: `sparkops init IP…`; or name one: -i FILE; or use emulated nodes: -i lab",
    )


def _read(path: Path) -> Inventory:
    try:
        return inventory_file.read(recipes.document(path))
    except UsageError as error:
        if not path.exists() and nearest(str(path), ["lab"]):
            error.hint = "the emulated nodes are: -i lab"
        if path.is_file() and _INI.search(recipes.content(path)):
            told = one_line(f"{path}: is an inventory in INI, and sparkops reads YAML")
            convert = f"ansible-inventory -i {shlex.quote(str(path))} --list --yaml --export"
            raise UsageError(told, hint=f"convert it: `{convert}`") from None
        raise


def usual_place() -> Path | None:
    """The inventory that is read without `-i`."""
    return next(filter(os.path.isfile, inventory_places()), None)


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
