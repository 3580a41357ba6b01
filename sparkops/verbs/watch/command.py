"""The verb that shows nodes and deployments as they change."""

import re
import shlex
import shutil
from datetime import time
from typing import Any

import click
from click.core import ParameterSource

from sparkops.cli.shape import VerbCommand, example, line
from sparkops.cli.shared_options import ListenAddress, seconds
from sparkops.cli.where import on_nodes
from sparkops.core.watch.notice import QuietHours
from sparkops.core.watch.receiver import Receiver, receiver
from sparkops.verbs.watch.options import WatchOptions, WebOptions

FASTEST, SLOWEST = 1.0, 60.0
ANYWHERE = ("0.0.0.0", "::")


class Hours(click.ParamType[QuietHours]):
    """`22:00-07:00`."""

    name = "hours"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        found = re.fullmatch(r"([01]?\d|2[0-3]):([0-5]\d)-([01]?\d|2[0-3]):([0-5]\d)", str(value))
        if found is None:
            self.fail(f"{value!r} is not FROM-TO, such as 22:00-07:00", param, ctx)
        hour, minute, to_hour, to_minute = map(int, found.groups())
        start, end = time(hour, minute), time(to_hour, to_minute)
        if start == end:
            self.fail(f"{value!r} begins and ends at the same time", param, ctx)
        return QuietHours(start, end)


class Told(click.ParamType[Receiver | tuple[str, ...]]):
    """A URL, or a command line."""

    name = "told"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            found = receiver(value) if "://" in value.partition(" ")[0] else tuple(shlex.split(value))
        except ValueError as error:
            self.fail(f"neither a URL nor a command line: {error}", param, ctx)
        if not found:
            self.fail("it is empty", param, ctx)
        if isinstance(found, tuple) and shutil.which(found[0]) is None:
            self.fail(f"neither a URL nor a program: {found[0]!r}", param, ctx)
        return found


@example("""
    sparkops watch
    sparkops watch --once
    sparkops watch --web
    sparkops watch --metrics 9466
    sparkops watch --notify https://ntfy.sh/my-sparks --quiet-hours 22:00-07:00
""")
@click.command(cls=VerbCommand)
@seconds("--every", "2s", "How often each node tells what it does.")
@click.option("--once", is_flag=True, help="Show it once and end.")
@click.option(
    "--metrics", type=ListenAddress(), metavar="[HOST:]PORT", help="Serve metrics to Prometheus at this address."
)
@click.option(
    "--notify",
    type=Told(),
    multiple=True,
    envvar="SPARKOPS_NOTIFY",
    metavar="URL|COMMAND",
    help="Send alerts to this webhook, ntfy topic, Slack channel or program (or $SPARKOPS_NOTIFY).",
)
@click.option("--quiet-hours", type=Hours(), metavar="FROM-TO", help="Send nothing between these times of the day.")
@click.option("--web", is_flag=True, help="Show it as a page in the browser; print the link to open.")
@click.option(
    "--listen", type=ListenAddress(), metavar="[HOST:]PORT", help="With --web: its address.  [default: 127.0.0.1:8799]"
)
@click.option("--tls-cert", type=click.Path(exists=True, dir_okay=False), help="With --web: the certificate for TLS.")
@click.option("--tls-key", type=click.Path(exists=True, dir_okay=False), help="With --web: its private key.")
@click.option("--behind", metavar="URL", help="With --web: the address at which a proxy with TLS shows the page.")
@click.option("--keep", is_flag=True, help="With --web: keep a day of the charts, in a file.")
@click.option("--allow-changes", is_flag=True, help="With --web: buttons that stop, start and restart deployments.")
@on_nodes
@click.pass_context
def watch(context: click.Context, /, **given: Any) -> WatchOptions:
    """Watch nodes and deployments as they change.

    Shows memory, GPU, links, boots, tokens, and what is wrong. Nothing is installed: a small script on each node prints
    what changes over the connection of this command, and ends with it. Without a terminal, prints a line when something
    goes wrong and when it is over.
    """
    if line(context).flags.get("json") and not given["once"]:
        raise click.UsageError("--json prints one document, so it needs --once", context)
    typed = [
        name for name in ("metrics", "notify") if context.get_parameter_source(name) is ParameterSource.COMMANDLINE
    ]
    if given["once"] and (typed or given["web"]):
        raise click.UsageError("--web, --metrics and --notify need a watch that goes on, not --once", context)
    if given["quiet_hours"] and not given["notify"]:
        raise click.UsageError("--quiet-hours needs --notify", context)
    if not FASTEST <= given["every"] <= SLOWEST:
        raise click.BadParameter(f"from {FASTEST:g}s to {SLOWEST:g}s", context, param_hint="'--every'")
    web = _web(context, given)
    return WatchOptions(**given, web=web)


PAGE = ("listen", "tls_cert", "tls_key", "behind", "keep", "allow_changes")


def _web(context: click.Context, given: dict[str, Any]) -> WebOptions | None:
    """Take the options of the page out of all that is given."""
    told = {name: value for name in PAGE if (value := given.pop(name))}
    if not given.pop("web"):
        if told:
            raise click.UsageError(f"--{next(iter(told)).replace('_', '-')} needs --web", context)
        return None
    options = WebOptions(**told)
    if bool(options.tls_cert) != bool(options.tls_key):
        raise click.UsageError("--tls-cert and --tls-key need each other", context)
    if options.behind and not re.fullmatch(r"https://[\w.-]+(:\d{1,5})?/?", options.behind):
        raise click.BadParameter(
            "an address with TLS, such as https://sparks.example", context, param_hint="'--behind'"
        )
    if not options.is_local and not (options.tls_cert or options.behind):
        hint = "give --tls-cert and --tls-key, or --behind URL of a proxy with TLS"
        raise click.UsageError(f"--listen {options.listen[0]}: others would read the page without TLS; {hint}", context)
    if options.listen[0] in ANYWHERE and not options.behind:
        raise click.UsageError(f"--listen {options.listen[0]}: name the address that the browser opens", context)
    return options
