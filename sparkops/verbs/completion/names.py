"""The names that can be completed. No node is asked, so that a Tab is answered at once."""

from collections.abc import Callable, Iterable

import click

from sparkops import checks, rules
from sparkops.cli.where import inventory
from sparkops.core.bench.suites import SUITES
from sparkops.core.topology import LEAST_CLUSTER
from sparkops.files import catalogues, deployments, playbooks, recipes
from sparkops.files import inventory as load_inventory
from sparkops.verbs.lab import run as lab

WITHOUT_INVENTORY: dict[str, Callable[[], Iterable[str]]] = {
    "rules": lambda: (one.id for one in rules.RULES),
    "checks": lambda: (one.id for one in checks.CHECKS),
    "suites": lambda: (one.id for one in SUITES),
    "recipes": lambda: (*recipes.recipe_names(), *catalogues.recipe_names()),
    "catalogues": catalogues.names,
    "playbooks": playbooks.packaged_names,
    "faults": lab.kinds,
    "lab nodes": lambda: (node.name for node in load_inventory.inventory(lab.inventory()).nodes),
}


def names(kind: str, context: click.Context) -> Iterable[str]:
    """Return the names of a kind; nodes, with their groups, and topologies are those of the inventory.

    Deployments are those that an earlier run of this user saw on the inventory's nodes.
    """
    if kind in WITHOUT_INVENTORY:
        return WITHOUT_INVENTORY[kind]()
    found = load_inventory.inventory(inventory(context))
    if kind == "deployments":
        return deployments.seen(found.source)
    if kind == "nodes":
        return [*(node.name for node in found.nodes), *found.groups]
    counts = range(2, len(found.nodes) + 1)
    clusters = (f"{count}x-cluster" for count in counts if count * LEAST_CLUSTER <= len(found.nodes))
    return ["solo", *(f"{count}x-solo" for count in counts), "cluster", *clusters]
