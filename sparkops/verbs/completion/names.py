"""The names that can be completed. No node is asked, so that a Tab is answered at once."""

from collections.abc import Iterable
from typing import Any

import click

from sparkops import checks, rules
from sparkops.cli.where import inventory
from sparkops.core.bench.suites import SUITES
from sparkops.files import catalogues, playbooks, recipes
from sparkops.files import inventory as load_inventory

BY_ID: dict[str, Iterable[Any]] = {"rules": rules.RULES, "checks": checks.CHECKS, "suites": SUITES}


def names(kind: str, context: click.Context) -> Iterable[str]:
    """Return the names of a kind; nodes, with their groups, and topologies are those of the inventory."""
    if kind in BY_ID:
        return [one.id for one in BY_ID[kind]]
    if kind == "recipes":
        return [*recipes.recipe_names(), *catalogues.recipe_names()]
    if kind == "catalogues":
        return catalogues.names()
    if kind == "playbooks":
        return playbooks.packaged_names()
    found = load_inventory.inventory(inventory(context))
    if kind == "nodes":
        return [*(node.name for node in found.nodes), *found.groups]
    return ["solo", *(f"{count}x-solo" for count in range(2, len(found.nodes) + 1)), "cluster"]
