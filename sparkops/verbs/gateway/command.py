"""The verbs of a fleet's endpoint: people's keys, what they used, and its log."""

import datetime
import re
from typing import Any

import click

from sparkops.cli.completion import DEPLOYMENT
from sparkops.cli.shape import VerbGroup, example, line
from sparkops.cli.where import WAIT, on_nodes, target
from sparkops.verbs.gateway.options import GatewayLogsOptions, NewKeyOptions, PersonOptions, UsageOptions

PERSON = re.compile(r"[a-z0-9][a-z0-9._@-]{0,62}")
GATEWAY = click.option(
    "--gateway", type=DEPLOYMENT, help="Name of the endpoint, such as fleet-gateway; needed if there are several."
)
NUMBER = click.IntRange(1)


def _person(_context: click.Context, _parameter: click.Parameter, value: str) -> str:
    if not PERSON.fullmatch(value):
        raise click.BadParameter("small letters, digits and . _ @ - are allowed, at most 63, such as anna or ci@lab")
    return value


def _names(_context: click.Context, _parameter: click.Parameter, value: str | None) -> tuple[str, ...] | None:
    return None if value is None else tuple(dict.fromkeys(filter(None, map(str.strip, value.split(",")))))


def _date(_context: click.Context, _parameter: click.Parameter, value: str | None) -> str | None:
    try:
        return None if value is None else datetime.date.fromisoformat(value).isoformat()
    except ValueError:
        raise click.BadParameter(f"{value} is no date such as 2027-01-31") from None


WHO = click.argument("person", metavar="NAME", callback=_person)


@example("""
    sparkops gateway key add anna --rpm 60 --tokens-per-day 200000
    sparkops gateway key list
    sparkops gateway usage --days 30
""")
@click.group(cls=VerbGroup)
def gateway() -> None:
    """Give people keys for an endpoint, show what they used, and its log."""


@example("""
    sparkops gateway key add anna
    sparkops gateway key revoke anna
""")
@gateway.group(cls=VerbGroup)
def key() -> None:
    """Add, list, rotate and revoke the keys of people."""


@example("""
    sparkops gateway key add anna --models coder,auto --rpm 60 --parallel 4
    sparkops gateway key add ci --tokens-per-day 200000 --expires 2027-01-31
""")
@key.command()
@WHO
@click.option(
    "--models", callback=_names, metavar="NAME,...", help="Only these model names of the endpoint; else all of them."
)
@click.option("--rpm", type=NUMBER, metavar="N", help="Most requests a minute.")
@click.option("--parallel", type=NUMBER, metavar="N", help="Most requests at a time.")
@click.option("--tokens-per-day", type=NUMBER, metavar="N", help="Most tokens a day (UTC), of requests and answers.")
@click.option("--expires", callback=_date, metavar="DATE", help="Last day (UTC) on which the key is good.")
@GATEWAY
@WAIT
@on_nodes
def add(**given: Any) -> NewKeyOptions:
    """Make a key for a person and print it once; the endpoint stores only its digest.

    It is in force within two seconds, without a restart. A request beyond a limit gets 429 and when to ask again.
    """
    return NewKeyOptions(**given)


@example("sparkops gateway key rotate anna")
@key.command()
@WHO
@GATEWAY
@WAIT
@on_nodes
def rotate(**given: Any) -> PersonOptions:
    """Give a person a new key with the same limits; the old one ends within two seconds."""
    return PersonOptions(**given)


@example("sparkops gateway key revoke anna")
@key.command()
@WHO
@GATEWAY
@WAIT
@on_nodes
def revoke(**given: Any) -> PersonOptions:
    """End a person's key within two seconds, and the requests that run with it; those of others go on."""
    return PersonOptions(**given)


@example("sparkops gateway key list --json")
@key.command("list")
@GATEWAY
@on_nodes
def list_(**given: Any) -> UsageOptions:
    """List people's keys: their limits, and what they used today."""
    return UsageOptions(**given)


@example("""
    sparkops gateway usage
    sparkops gateway usage --days 30 --json
""")
@gateway.command()
@click.option("--days", type=click.IntRange(1, 92), default=1, metavar="N", help="The last N days, in UTC.")
@GATEWAY
@on_nodes
def usage(**given: Any) -> UsageOptions:
    """Show requests, tokens and seconds by person and model. Nothing of what was asked or answered is stored."""
    return UsageOptions(**given)


@example("""
    sparkops gateway logs --tail 50
    sparkops gateway logs --follow
""")
@gateway.command()
@click.option("--tail", type=click.IntRange(1), default=200, metavar="N", help="Print the last N lines.")
@click.option("--follow", is_flag=True, help="Print new lines as they come, until Ctrl-C.")
@GATEWAY
@click.pass_context
def logs(context: click.Context, /, **given: Any) -> GatewayLogsOptions:
    """Print the log of the endpoint: each request with its status and tokens, and what it started and stopped."""
    if given["follow"] and line(context).flags.get("json"):
        raise click.UsageError("--follow cannot be used with --json", context)
    return GatewayLogsOptions(target(), **given)
