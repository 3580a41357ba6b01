"""The verbs that read `fleet.yml`."""

from typing import Any

import click

from sparkops.cli.shape import VerbCommand, example
from sparkops.cli.shared_options import DEADLINE, STALL
from sparkops.cli.where import WAIT, access, api_key, on_nodes
from sparkops.core.hub_access import Access
from sparkops.core.plan import WaitLimits
from sparkops.verbs.fleet.options import FleetOptions

_FILE = click.argument("file", required=False, metavar="[FILE]")


@example("""
    sparkops place
    sparkops place team/fleet.yml --json
""")
@click.command(cls=VerbCommand)
@_FILE
@on_nodes
def place(**given: Any) -> FleetOptions:
    """Show which nodes a fleet's deployments would take.

    FILE names the deployments [default: fleet.yml]. What serves stays where it is if there is room; then the nodes
    are filled as evenly as possible. This reads the nodes and changes nothing.
    """
    return FleetOptions(**given)


@example("""
    sparkops diff
    sparkops diff team/fleet.yml --exit-code
""")
@click.command(cls=VerbCommand)
@_FILE
@click.option("--exit-code", is_flag=True, help="End with 3 if `apply` would change something.")
@STALL
@DEADLINE
@on_nodes
def diff(stall: float, deadline: float, **given: Any) -> FleetOptions:
    """Show how the nodes differ from a fleet's file.

    FILE names the deployments [default: fleet.yml]. This shows what `apply` would change and why, and what serves on
    the nodes that is not in the file. It reads the nodes and changes nothing.
    """
    return FleetOptions(limits=WaitLimits(stall, deadline), api_key=api_key(), **given)


@example("""
    sparkops apply
    sparkops apply team/fleet.yml --setup
""")
@click.command(cls=VerbCommand)
@_FILE
@click.option(
    "--expect", metavar="ID", help="Apply only the plan with this ID (see `diff`), or what serves already; else exit 3."
)
@click.option(
    "--if-changed",
    is_flag=True,
    help="Do nothing if the commit of FILE's git repository is the one that was applied last (for cron).",
)
@click.option("--setup", is_flag=True, help="First get missing images and models (may take hours).")
@STALL
@DEADLINE
@WAIT
@on_nodes
def apply(stall: float, deadline: float, **given: Any) -> FleetOptions:
    """Make the nodes serve what a fleet's file says.

    FILE names the deployments [default: fleet.yml]. What does not change is not touched. What an earlier `apply` of
    this fleet started and the file no longer has, is stopped. If something fails, what served before serves again.
    """
    get = access() if given["setup"] else Access()
    return FleetOptions(limits=WaitLimits(stall, deadline), api_key=api_key(), access=get, **given)
