"""The verbs `init` and `trust`."""

from typing import Any

import click

from sparkops.cli.shape import VerbCommand, example, line
from sparkops.cli.where import on_nodes, target
from sparkops.core.inventory import SSH_PORT
from sparkops.core.target import ConfirmOptions
from sparkops.verbs.setup.options import InitFleetOptions, InitOptions


@example("""
    sparkops init 192.168.1.11 192.168.1.12 --user nvidia --ask-pass
    sparkops init --fleet
""")
@click.command(cls=VerbCommand)
@click.argument("addresses", nargs=-1, metavar="IP...")
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    help="The file to write [default: ~/.config/sparkops/inventory.yml; with --fleet: fleet.yml].",
)
@click.option("--fleet", is_flag=True, help="Write a fleet's file (see `apply`) from what serves on the nodes instead.")
@click.option("--user", metavar="NAME", help="The login user on the nodes [default: your user name].")
@click.option("--port", type=click.IntRange(1, 65535), metavar="N", help="The SSH port of the nodes [default: 22].")
@click.option("--key-file", metavar="FILE", help="The private key to log in with.")
@click.option(
    "--ask-pass", is_flag=True, help="Log in with $SPARKOPS_PASSWORD, else ask for it; then install your public key."
)
@click.option("--yes", is_flag=True, help="Do not ask before pinning the host keys.")
@click.option("--resolve", is_flag=True, help="Accept host names, too; the inventory gets their IP addresses.")
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
@click.pass_context
def init(
    context: click.Context, /, output: str | None, fleet: bool, force: bool, **given: Any
) -> InitOptions | InitFleetOptions:
    """Write an inventory and pin the nodes' host keys."""
    if fleet:
        if any(given.values()):
            raise click.UsageError(
                "--fleet reads the nodes of the inventory (-i FILE); it takes only --output and --force"
            )
        return InitFleetOptions(target(), output, force)
    if not given["addresses"]:
        raise click.MissingParameter(param=context.command.params[0], ctx=context)
    path = output or line(context).flags.get("inventory")
    port = given.pop("port") or SSH_PORT
    return InitOptions(output=path, force=force, port=port, **given)


@example("sparkops trust")
@click.command(cls=VerbCommand)
@click.option("--yes", is_flag=True, help="Do not ask before pinning the host keys.")
@on_nodes
def trust(**given: Any) -> ConfirmOptions:
    """Show the nodes' host keys and pin them."""
    return ConfirmOptions(**given)
