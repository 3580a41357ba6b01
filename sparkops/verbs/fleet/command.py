"""The verbs that read `fleet.yml`."""

import click

from sparkops.cli.shape import VerbCommand, example
from sparkops.cli.where import on_nodes
from sparkops.verbs.fleet.options import FleetOptions

_FILE = click.argument("file", required=False, metavar="[FILE]")


@example("""
    sparkops place
    sparkops place team/fleet.yml --json
""")
@click.command(cls=VerbCommand)
@_FILE
@on_nodes
def place(**given: str | None) -> FleetOptions:
    """Show which nodes a fleet's deployments would take.

    FILE names the deployments [default: fleet.yml]. What serves stays where it is if there is room; then the nodes
    are filled as evenly as possible. This reads the nodes and changes nothing.
    """
    return FleetOptions(**given)  # type: ignore[arg-type]
