"""The verbs that read: status, logs, key, endpoint, facts. `key rotate` writes, and lives beside its noun."""

from typing import Any, Literal

import click

from sparkops.cli.completion import NODE
from sparkops.cli.shape import Invocation, VerbCommand, VerbGroup, example, line
from sparkops.cli.shared_options import BECOME
from sparkops.cli.where import api_key, where
from sparkops.verbs.status.options import EndpointOptions, FactsOptions, KeyOptions, LogsOptions, StatusOptions


@example("sparkops status --json")
@click.command(cls=VerbCommand)
@click.argument("deployment", required=False)
@BECOME
@click.pass_context
def status(context: click.Context, /, deployment: str | None, ask_become_pass: bool) -> Invocation:
    """Show what serves where, verified by a request.

    Exit 0: serving or stopped; 5: degraded or failed; 4: a node could not be reached.
    """
    return Invocation("status", StatusOptions(where(context, ask_become_pass), deployment))


@example("""
    sparkops logs --tail 50
    sparkops logs --follow
""")
@click.command(cls=VerbCommand)
@click.argument("deployment", required=False)
@click.option("--previous", is_flag=True, help="Show the logs of what ran before, or was removed last.")
@click.option(
    "--tail",
    type=click.IntRange(1),
    default=200,
    show_default=True,
    metavar="N",
    help="How many last lines of each node.",
)
@click.option("--follow", is_flag=True, help="Print new lines as they come, until Ctrl-C.")
@BECOME
@click.pass_context
def logs(context: click.Context, /, deployment: str | None, ask_become_pass: bool, **given: Any) -> Invocation:
    """Print the engines' logs, node by node."""
    if given["follow"] and (given["previous"] or line(context).flag("json")):
        raise click.UsageError("--follow has no end: it goes with neither --json nor --previous", context)
    return Invocation("logs", LogsOptions(where(context, ask_become_pass), deployment, **given))


@example("""
    curl -H "Authorization: Bearer $(sparkops key)" http://10.0.0.11:8000/v1/models
    sparkops key rotate
""")
@click.group(cls=VerbGroup, invoke_without_command=True)
@click.option("--deployment", metavar="NAME", help="The deployment, if several serve.")
@BECOME
@click.pass_context
def key(context: click.Context, /, deployment: str | None, ask_become_pass: bool) -> Invocation | None:
    """Print the endpoint's API key or change it."""
    if context.invoked_subcommand is not None:
        return None
    return Invocation("key", KeyOptions(where(context, ask_become_pass), deployment))


@example("sparkops key rotate")
@key.command()
@click.option("--deployment", metavar="NAME", help="The deployment, if several serve.")
@BECOME
@click.pass_context
def rotate(context: click.Context, /, deployment: str | None, ask_become_pass: bool) -> Invocation:
    """Replace the API key by $SPARKOPS_API_KEY, or by a new one."""
    return Invocation(
        "key rotate", KeyOptions(where(context, ask_become_pass), deployment, rotate=True, api_key=api_key())
    )


@example('eval "$(sparkops endpoint --for openai)"')
@click.command(cls=VerbCommand)
@click.argument("deployment", required=False)
@click.option("--for", "client", type=click.Choice(["openai", "claude-code"]), required=True, help="The client.")
@BECOME
@click.pass_context
def endpoint(
    context: click.Context, /, deployment: str | None, client: Literal["openai", "claude-code"], ask_become_pass: bool
) -> Invocation:
    """Print the variables that a client needs."""
    return Invocation("endpoint", EndpointOptions(where(context, ask_become_pass), client, deployment))


@example("sparkops facts spark1 --raw > spark1.facts")
@click.command(cls=VerbCommand)
@click.argument("node", type=NODE, required=False)
@click.option("--raw", is_flag=True, help="Print the unparsed capture of one node.")
@BECOME
@click.pass_context
def facts(context: click.Context, /, node: str | None, raw: bool, ask_become_pass: bool) -> Invocation:
    """Show what sparkops reads from the nodes."""
    if raw and node is None:
        raise click.UsageError("--raw is for one node: name it", context)
    return Invocation("facts", FactsOptions(where(context, ask_become_pass), node, raw))
