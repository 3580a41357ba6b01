"""The verbs of the fabric: fabric, fabric setup."""

from typing import Any

import click

from sparkops.cli.shape import VerbGroup, example
from sparkops.cli.where import WAIT, on_nodes
from sparkops.core.fabric.address_pool import asked_pool
from sparkops.verbs.fabric.options import FabricOptions, SetupOptions


@example("""
    sparkops fabric
    sparkops fabric --deep
    sparkops fabric --limit spark1,spark2 --json
""")
@click.group(cls=VerbGroup, invoke_without_command=True)
@click.option("--deep", is_flag=True, help="Also measure how much each interface carries, with ib_write_bw.")
@on_nodes
def fabric(**given: Any) -> FabricOptions:
    """Show the QSFP cables, and what is wrong with them.

    Each port asks who is at the other end of its cable, so a wrong cable is found whatever the addresses are. Exit 0:
    nothing is wrong; 3: a cable, an address or a link is wrong; 4: a node could not be reached.
    """
    return FabricOptions(**given)


@example("""
    sparkops fabric setup --check
    sparkops fabric setup --ask-become-pass
    sparkops fabric setup --undo
""")
@fabric.command()
@click.option("--undo", is_flag=True, help="Remove the netplan file that `fabric setup` wrote.")
@click.option(
    "--pool",
    metavar="NETWORK",
    help="Take new subnets from this network, such as 10.30.0.0/16; else from `fabric_pool` of the inventory.",
)
@click.option("--check", is_flag=True, help="Change nothing; show what would be done.")
@click.option("--yes", is_flag=True, help="Do not ask before changing the network.")
@WAIT
@on_nodes
def setup(pool: str | None, **given: Any) -> SetupOptions:
    """Give the interfaces of the fabric the addresses and the MTU that they lack.

    What is set stays as it is. The rest goes into one netplan file on each node, which is shown first. A node that does
    not answer after the change has its old configuration again within a minute. Exit codes as of `sparkops fabric`;
    with --check, 0 if something would be changed.
    """
    return SetupOptions(pool=asked_pool(pool) if pool else None, **given)
