"""The verbs that read: status, logs, key, endpoint, facts; and `key rotate`, which writes."""

from typing import Any, get_args

import click

from sparkops.cli.completion import DEPLOYMENT, NODE
from sparkops.cli.shape import VerbCommand, VerbGroup, example, line
from sparkops.cli.where import WAIT, api_key, on_nodes, target
from sparkops.verbs.status.options import Client, EndpointOptions, FactsOptions, KeyOptions, LogsOptions, StatusOptions


@example("""
    sparkops status
    sparkops status --quiet --strict || echo "look at the nodes"
""")
@click.command(cls=VerbCommand)
@click.argument("deployment", required=False, type=DEPLOYMENT)
@click.option(
    "--strict",
    is_flag=True,
    help="For monitors: count also warnings, silent nodes and nothing that serves; stderr says why.",
)
@click.option("--short", is_flag=True, help="Print one line a deployment: name, state, model, endpoint.")
@click.option("--quiet", is_flag=True, help="Print nothing on stdout; on stderr why the exit code is not 0.")
@click.pass_context
def status(context: click.Context, /, **given: Any) -> StatusOptions:
    """Show what runs and test it with a request.

    It also says why a deployment does not serve, and warns of what endangers one that serves.

    Exit 0: every deployment serves or is stopped; 5: one starts, is degraded or failed; 4: what a node runs is unknown.
    With --strict also 5: there is a warning, or nothing serves; 4: a node cannot be reached, although what it runs
    answers.
    """
    if sum((given["short"], given["quiet"], bool(line(context).flags.get("json")))) > 1:
        raise click.UsageError("use only one of --short, --quiet and --json", context)
    return StatusOptions(target(), **given)


@example("""
    sparkops logs --tail 50
    sparkops logs --follow
""")
@click.command(cls=VerbCommand)
@click.argument("deployment", required=False, type=DEPLOYMENT)
@click.option("--previous", is_flag=True, help="Print the logs of the deployment that was stopped or removed last.")
@click.option(
    "--tail", type=click.IntRange(1), default=200, metavar="N", help="Print the last N lines of each container."
)
@click.option("--follow", is_flag=True, help="Print new lines as they come, until Ctrl-C.")
@click.pass_context
def logs(context: click.Context, /, **given: Any) -> LogsOptions:
    """Print the engines' logs, node by node."""
    if given["follow"] and (given["previous"] or line(context).flags.get("json")):
        raise click.UsageError("--follow cannot be used with --json or --previous", context)
    return LogsOptions(target(), **given)


@example("""
    curl -H "Authorization: Bearer $(sparkops key)" http://10.0.0.11:8000/v1/models
    sparkops key rotate
""")
@click.group(cls=VerbGroup, invoke_without_command=True)
@click.option("--deployment", type=DEPLOYMENT, help="Name of the deployment; needed if several serve.")
@on_nodes
def key(**given: Any) -> KeyOptions:
    """Print the endpoint's API key or change it."""
    return KeyOptions(**given)


@example("""
    sparkops key rotate --check
    SPARKOPS_API_KEY=... sparkops key rotate
""")
@key.command()
@click.option("--check", is_flag=True, help="Change nothing; show what would be restarted.")
@click.option("--deployment", type=DEPLOYMENT, help="Name of the deployment; needed if several serve.")
@WAIT
@on_nodes
@click.pass_context
def rotate(context: click.Context, /, deployment: str | None, **given: Any) -> KeyOptions:
    """Change the API key: to $SPARKOPS_API_KEY if it is set, else to a new random key.

    Engines and proxies read the key only when they start. So this restarts the deployments that use it, and nothing if
    the key stays the same. Several copies (2x-solo, 2x-cluster, ...) restart one after the other.
    """
    before = context.parent.params.get("deployment") if context.parent else None  # it may stand before `rotate`
    return KeyOptions(rotate=True, api_key=api_key(), deployment=deployment or before, **given)


@example("""
    eval "$(sparkops endpoint --for openai)"
    sparkops endpoint --for curl
""")
@click.command(cls=VerbCommand)
@click.argument("deployment", required=False, type=DEPLOYMENT)
@click.option("--for", "client", type=click.Choice(get_args(Client)), required=True, help="The client.")
@on_nodes
def endpoint(**given: Any) -> EndpointOptions:
    """Print URL, key and model for a client.

    The output sets the environment variables that the client reads; a comment says how to start it. For curl it is one
    request, which reads the key when it runs.
    """
    return EndpointOptions(**given)


@example("sparkops facts spark1 --raw > spark1.facts")
@click.command(cls=VerbCommand)
@click.argument("node", type=NODE, required=False)
@click.option("--raw", is_flag=True, help="Print the text that one node sent, unparsed.")
@click.pass_context
def facts(context: click.Context, /, node: str | None, raw: bool) -> FactsOptions:
    """Show hardware, network and software of the nodes."""
    if raw and node is None:
        raise click.UsageError("--raw needs a node: `sparkops facts NODE --raw`", context)
    return FactsOptions(target(), node, raw)
