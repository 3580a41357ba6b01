"""The verbs `init` and `trust`."""

from typing import Any

import click

from sparkops.cli.shape import VerbCommand, example, line
from sparkops.cli.where import on_nodes
from sparkops.core.target import ConfirmOptions
from sparkops.verbs.setup.options import InitOptions


@example("sparkops init 192.168.1.11 192.168.1.12 --user nvidia --ask-pass")
@click.command(cls=VerbCommand)
@click.argument("addresses", nargs=-1, required=True, metavar="IP...")
@click.option(
    "-o", "--output", metavar="FILE", help="The inventory to write [default: ~/.config/sparkops/inventory.yml]."
)
@click.option("--user", metavar="NAME", help="The login user on the nodes [default: your user name].")
@click.option("--port", type=click.IntRange(1, 65535), default=22, metavar="N", help="The SSH port of the nodes.")
@click.option("--key-file", metavar="FILE", help="The private key to log in with.")
@click.option(
    "--ask-pass", is_flag=True, help="Log in with $SPARKOPS_PASSWORD, else ask for it; then install your public key."
)
@click.option("--yes", is_flag=True, help="Do not ask before pinning the host keys.")
@click.option("--resolve", is_flag=True, help="Accept host names, too; the inventory gets their IP addresses.")
@click.option("--force", is_flag=True, help="Overwrite an existing inventory.")
@click.pass_context
def init(context: click.Context, /, output: str | None, **given: Any) -> InitOptions:
    """Write an inventory and pin the nodes' host keys."""
    path = output or line(context).flags.get("inventory")
    return InitOptions(output=path, **given)


@example("sparkops trust")
@click.command(cls=VerbCommand)
@click.option("--yes", is_flag=True, help="Do not ask before pinning the host keys.")
@on_nodes
def trust(**given: Any) -> ConfirmOptions:
    """Show the nodes' host keys and pin them."""
    return ConfirmOptions(**given)
