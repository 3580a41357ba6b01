"""The names that can be completed. No node is asked: a Tab is to be answered at once."""

from collections.abc import Iterable

import click

from sparkops import checks as checkbook
from sparkops import rules as rulebook
from sparkops.cli.where import inventory
from sparkops.core.bench.suites import SUITES
from sparkops.files import inventory as load_inventory
from sparkops.files import playbooks as load_playbooks
from sparkops.files import recipes as load_recipes


def recipes(_: click.Context) -> Iterable[str]:
    return load_recipes.recipe_names()


def nodes(context: click.Context) -> Iterable[str]:
    """Nodes and groups."""
    found = load_inventory.inventory(inventory(context))
    return [*(node.name for node in found.nodes), *found.groups]


def playbooks(_: click.Context) -> Iterable[str]:
    return load_playbooks.packaged_names()


def topologies(context: click.Context) -> Iterable[str]:
    """For the nodes of the inventory."""
    many = len(load_inventory.inventory(inventory(context)).nodes)
    return ["solo", *(f"{count}x-solo" for count in range(2, many + 1)), "cluster"]


def rules(_: click.Context) -> Iterable[str]:
    return [rule.id for rule in rulebook.RULES]


def checks(_: click.Context) -> Iterable[str]:
    return [check.id for check in checkbook.CHECKS]


def suites(_: click.Context) -> Iterable[str]:
    return [suite.id for suite in SUITES]
