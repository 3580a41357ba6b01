"""The verbs of the lab: emulated GB10 nodes on this machine."""

from typing import Any

import click

from sparkops.cli.shape import VerbGroup, example
from sparkops.verbs.lab.options import LabOptions


@example("sparkops lab up --nodes 2 && sparkops -i lab deploy --topology cluster")
@click.group(cls=VerbGroup)
def lab() -> None:
    """Run emulated nodes on this machine."""


@example("sparkops lab up --nodes 2")
@lab.command(logged=False)
@click.option(
    "--nodes",
    type=click.IntRange(1, 500),
    default=2,
    show_default=True,
    metavar="N",
    help="How many nodes, at most 500.",
)
@click.option("--backend", type=click.Choice(["embedded", "docker"]), default="embedded", show_default=True)
@click.option("--ray", type=click.Choice(["auto", "real", "emulated"]), default="auto", show_default=True)
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
@click.option("--reset", is_flag=True, help="Reset the counts of connections and commands.")
def status(**given: Any) -> LabOptions:
    """Show the nodes, their connections and commands, and their faults."""
    return LabOptions(**given)


@example("""
    sparkops lab fault --list
    sparkops lab fault node2 worker-never-joins
""")
@lab.command(logged=False)
@click.argument("node", required=False, default="")
@click.argument("kind", required=False, default="")
@click.option("--list", "listing", is_flag=True, help="Show every kind of fault.")
@click.option("--off", is_flag=True, help="Switch the fault off again.")
@click.option(
    "--after", type=click.IntRange(0), default=0, metavar="N", help="Let N commands that change the node succeed first."
)
def fault(node: str, kind: str, listing: bool, **given: Any) -> LabOptions:
    """Switch a fault of an emulated node on or off."""
    if not listing and not (node and kind):
        raise click.UsageError("NODE and KIND are needed; `sparkops lab fault --list` shows the kinds")
    return LabOptions(node=node, kind=kind, listing=listing, **given)
