"""The verbs of the lab: emulated GB10 nodes on this machine."""

from __future__ import annotations

import click

from sparkops.cli.options import Lab
from sparkops.cli.shape import Ask, Group, example


@example("sparkops lab up --nodes 2 && sparkops -i lab deploy --topology cluster")
@click.group(cls=Group)
def lab() -> None:
    """Run emulated nodes on this machine: no GPU, no root, no Docker."""


@example("sparkops lab up --nodes 2")
@lab.command()
@click.option("--nodes", type=click.IntRange(1, 500), default=2, show_default=True)
@click.option("--backend", type=click.Choice(["embedded", "docker"]), default="embedded", show_default=True)
@click.option("--ray", type=click.Choice(["auto", "real", "emulated"]), default="auto", show_default=True)
@click.option("--speed", type=float, help="How much faster than life models load [default: 1].")
def up(nodes: int, backend: str, ray: str, speed: float | None) -> Ask:
    """Start the nodes; `-i lab` is their inventory."""
    return Ask("lab up", Lab(nodes=nodes, backend=backend, ray=ray, speed=speed), logged=False)


@example("sparkops lab down")
@lab.command()
def down() -> Ask:
    """End every node and remove all that they left."""
    return Ask("lab down", Lab(), logged=False)


@example("sparkops lab status --reset")
@lab.command()
@click.option("--reset", is_flag=True, help="Begin to count connections and commands anew.")
def status(reset: bool) -> Ask:
    """Show the nodes, what reached them, and their faults."""
    return Ask("lab status", Lab(reset=reset), logged=False)


@example("""
    sparkops lab fault --list
    sparkops lab fault node2 worker-never-joins
""")
@lab.command()
@click.argument("node", required=False, default="")
@click.argument("kind", required=False, default="")
@click.option("--list", "listing", is_flag=True, help="Show every kind of fault.")
@click.option("--off", is_flag=True, help="Switch the fault off again.")
@click.option("--after", type=click.IntRange(0), default=0, help="Let so many changing commands pass first.")
def fault(node: str, kind: str, listing: bool, off: bool, after: int) -> Ask:
    """Make a node fail in a known way."""
    if not listing and not (node and kind):
        raise click.UsageError("NODE and KIND are needed; `sparkops lab fault --list` shows the kinds")
    return Ask("lab fault", Lab(node=node, kind=kind, listing=listing, off=off, after=after), logged=False)
