"""The verbs that read: status, logs, key, endpoint, facts. `key rotate` writes, and lives beside its noun."""

from __future__ import annotations

from typing import Any, Literal

import click

from sparkops.asks import EndpointOptions, FactsOptions, KeyOptions, LogsOptions, StatusOptions
from sparkops.cli.shape import Ask, Command, Group, example, line
from sparkops.cli.verbs.serve import BECOME
from sparkops.cli.where import api_key, where


@example("sparkops status --json")
@click.command(cls=Command)
@click.argument("deployment", required=False)
@BECOME
@click.pass_context
def status(context: click.Context, /, deployment: str | None, ask_become_pass: bool) -> Ask:
    """Tell what serves where, verified by asking it.

    Exit 0: serving or stopped; 5: degraded or failed; 4: a node could not be reached.
    """
    return Ask("status", StatusOptions(where(context, ask_become_pass), deployment))


@example("""
    sparkops logs --tail 50
    sparkops logs --follow
""")
@click.command(cls=Command)
@click.argument("deployment", required=False)
@click.option("--previous", is_flag=True, help="Of what ran before, or was removed last.")
@click.option("--tail", type=click.IntRange(1), default=200, show_default=True, help="Last lines a node.")
@click.option("--follow", is_flag=True, help="Print new lines as they come, until Ctrl-C.")
@BECOME
@click.pass_context
def logs(context: click.Context, /, deployment: str | None, ask_become_pass: bool, **given: Any) -> Ask:
    """Print the engines' logs, node by node."""
    if given["follow"] and (given["previous"] or line(context).flag("json")):
        raise click.UsageError("--follow has no end: it goes with neither --json nor --previous", context)
    return Ask("logs", LogsOptions(where(context, ask_become_pass), deployment, **given))


@example("""
    curl -H "Authorization: Bearer $(sparkops key)" http://10.0.0.11:8000/v1/models
    sparkops key rotate
""")
@click.group(cls=Group, invoke_without_command=True)
@click.option("--deployment", metavar="NAME", help="Which one, where several serve.")
@BECOME
@click.pass_context
def key(context: click.Context, /, deployment: str | None, ask_become_pass: bool) -> Ask | None:
    """Print the endpoint's API key, or change it."""
    if context.invoked_subcommand is not None:
        return None
    return Ask("key", KeyOptions(where(context, ask_become_pass), deployment))


@example("sparkops key rotate")
@key.command()
@click.option("--deployment", metavar="NAME", help="Which one, where several serve.")
@BECOME
@click.pass_context
def rotate(context: click.Context, /, deployment: str | None, ask_become_pass: bool) -> Ask:
    """Put a new key in force: $SPARKOPS_API_KEY, else one made now."""
    return Ask("key rotate", KeyOptions(where(context, ask_become_pass), deployment, rotate=True, api_key=api_key()))


@example('eval "$(sparkops endpoint --for openai)"')
@click.command(cls=Command)
@click.argument("deployment", required=False)
@click.option("--for", "client", type=click.Choice(["openai", "claude-code"]), required=True, help="The client.")
@BECOME
@click.pass_context
def endpoint(
    context: click.Context, /, deployment: str | None, client: Literal["openai", "claude-code"], ask_become_pass: bool
) -> Ask:
    """Print the variables that a client needs to use the endpoint."""
    return Ask("endpoint", EndpointOptions(where(context, ask_become_pass), client, deployment))


@example("sparkops facts spark1 --raw > spark1.facts")
@click.command(cls=Command)
@click.argument("node", required=False)
@click.option("--raw", is_flag=True, help="The capture as it came from the one node.")
@BECOME
@click.pass_context
def facts(context: click.Context, /, node: str | None, raw: bool, ask_become_pass: bool) -> Ask:
    """Show what is read from the nodes before anything is decided."""
    if raw and node is None:
        raise click.UsageError("--raw is for one node: name it", context)
    return Ask("facts", FactsOptions(where(context, ask_become_pass), node, raw))
