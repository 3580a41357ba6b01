"""The verbs of the lab: emulated GB10 nodes on this machine."""

from typing import Any

import click

from sparkops.cli.completion import FAULT, LAB_NODE
from sparkops.cli.shape import VerbGroup, example
from sparkops.verbs.lab.options import LabOptions


@example("sparkops lab up --nodes 2 && sparkops -i lab deploy --topology cluster")
@click.group(cls=VerbGroup)
def lab() -> None:
    """Run emulated nodes on this machine."""


@example("sparkops lab up --nodes 2")
@lab.command(logged=False)
@click.option("--nodes", type=click.IntRange(1, 500), default=2, metavar="N", help="The number of nodes.")
@click.option(
    "--backend", type=click.Choice(["embedded", "docker"]), default="embedded", help="docker runs real vLLM as root."
)
@click.option(
    "--ray",
    type=click.Choice(["auto", "real", "emulated"]),
    default="auto",
    help="auto: real if Ray is installed and this machine has a core for each node.",
)
@click.option(
    "--fabric",
    type=click.Choice(["switch", "pair", "triangle", "ring", "mixed"]),
    default="switch",
    help="How the nodes are cabled: pairs and triangles of two and three nodes each; mixed has some of each kind.",
)
@click.option("--speed", type=float, help="Load models this many times faster than real nodes [default: 1].")
def up(**given: Any) -> LabOptions:
    """Start emulated nodes. `-i lab` then selects them in every command."""
    return LabOptions(**given)


@example("sparkops lab down")
@lab.command(logged=False)
def down() -> LabOptions:
    """Stop the emulated nodes and remove everything that the lab created."""
    return LabOptions()


@example("sparkops lab status --reset")
@lab.command(logged=False)
@click.option("--reset", is_flag=True, help="Set the counts of connections and commands to 0.")
def status(**given: Any) -> LabOptions:
    """Show the nodes with their faults, and count their connections and commands."""
    return LabOptions(**given)


@example("""
    sparkops lab fault --list
    sparkops lab fault node2 worker-never-joins
""")
@lab.command(logged=False)
@click.argument("node", required=False, default="", type=LAB_NODE)
@click.argument("kind", required=False, default="", type=FAULT)
@click.option("--list", "listing", is_flag=True, help="List the kinds of faults.")
@click.option("--off", is_flag=True, help="Switch the fault off again.")
@click.option(
    "--after", type=click.IntRange(0), default=0, metavar="N", help="Begin after N commands that change the node."
)
def fault(node: str, kind: str, listing: bool, **given: Any) -> LabOptions:
    """Switch a fault of an emulated node on or off."""
    if not listing and not (node and kind):
        raise click.UsageError("give a node and a kind of fault; `sparkops lab fault --list` shows all kinds")
    return LabOptions(node=node, kind=kind, listing=listing, **given)
