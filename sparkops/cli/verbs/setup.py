"""The verbs of the first evening: init, trust."""

from __future__ import annotations

import click

from sparkops.asks import InitOptions, TrustOptions
from sparkops.cli.shape import Ask, Command, example, line
from sparkops.cli.where import secret, where


@example("sparkops init 192.168.1.11 192.168.1.12 --user nvidia --ask-pass")
@click.command(cls=Command)
@click.argument("addresses", nargs=-1, required=True, metavar="IP...")
@click.option("-o", "--output", metavar="FILE", help="The inventory to write [default: the user's own].")
@click.option("--user", metavar="NAME", help="The login on the nodes [default: yours].")
@click.option("--port", type=click.IntRange(1, 65535), default=22, show_default=True)
@click.option("--key-file", metavar="FILE", help="The private key to log in with.")
@click.option(
    "--ask-pass", is_flag=True, help="Log in by password once, to install the public key (or $SPARKOPS_PASSWORD)."
)
@click.option("--yes", is_flag=True, help="Pin the host keys that are shown without asking.")
@click.option("--resolve", is_flag=True, help="Take host names too: look each up once, write its address.")
@click.option("--force", is_flag=True, help="Write over an inventory that is there.")
@click.pass_context
def init(
    context: click.Context,
    /,
    addresses: tuple[str, ...],
    output: str | None,
    ask_pass: bool,
    user: str | None,
    port: int,
    key_file: str | None,
    yes: bool,
    force: bool,
    resolve: bool,
) -> Ask:
    """Write an inventory for these machines, pin their host keys, name what is missing."""
    password = secret("login password on the nodes", "SPARKOPS_PASSWORD") if ask_pass else None
    path = output or line(context).flag("inventory")
    return Ask("init", InitOptions(addresses, path, user, port, key_file, yes, force, resolve, password))


@example("sparkops trust")
@click.command(cls=Command)
@click.option("--yes", is_flag=True, help="Pin what is shown without asking.")
@click.pass_context
def trust(context: click.Context, /, yes: bool) -> Ask:
    """Show the nodes' host keys and pin them beside the inventory."""
    return Ask("trust", TrustOptions(where(context), yes))
