"""The verbs of the operator's own procedures: play, playbook, run."""

import shlex
from collections.abc import Mapping
from typing import Any

import click

from sparkops.cli.completion import PLAYBOOK, PLAYBOOK_FILE
from sparkops.cli.shape import NodeCommand, VerbCommand, VerbGroup, example, line
from sparkops.cli.shared_options import seconds
from sparkops.cli.where import WAIT, on_nodes, target
from sparkops.core.playbook.scope import GIVEN
from sparkops.core.schema import exact
from sparkops.verbs.play.options import PlaybookOptions, PlayOptions, RunOptions


def _names(context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> Mapping[str, Any]:
    """`K=V` words; a value is what YAML would make of it."""
    found: dict[str, Any] = {}
    for value in values:
        name, equals, text = value.partition("=")
        if not equals or not name.isidentifier():
            raise click.BadParameter(f"{value!r} must be NAME=VALUE, as in version=1.2")
        if name in GIVEN:
            raise click.BadParameter(f"-e cannot set {name}, because sparkops sets it")
        found[name] = exact(text)
    return found


def _tags(context: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> frozenset[str]:
    return frozenset(tag.strip() for value in values for tag in value.split(",") if tag.strip())


EXTRA = click.option(
    "-e", "--extra", multiple=True, callback=_names, metavar="K=V", help="Set a variable for the playbook (repeatable)."
)


@example("""
    sparkops play rolling-restart
    sparkops play drain.yml --check
    sparkops play drain.yml -e version=1.2 --limit spark1
    sparkops play drain.yml --limit @last-failed
""")
@click.command(cls=VerbCommand)
@click.argument("file", type=PLAYBOOK_FILE, metavar="NAME|FILE")
@EXTRA
@click.option(
    "--tags", multiple=True, callback=_tags, metavar="TAGS", help="Run only plays and steps with one of these tags."
)
@click.option(
    "--skip-tags", multiple=True, callback=_tags, metavar="TAGS", help="Skip plays and steps with one of these tags."
)
@click.option("--check", is_flag=True, help="Change nothing; show what would be done.")
@click.option("--list-steps", is_flag=True, help="Show plays and steps; contact no node.")
@WAIT
@on_nodes
def play(**given: Any) -> PlayOptions:
    """Run a playbook on the nodes.

    It is an included playbook, by its name, or your own file. A name of `sparkops playbook list` means the included
    playbook, even if there is a file of this name: for the file, write ./NAME. If a node fails, the others continue;
    --limit @last-failed repeats the playbook on the failed nodes.
    """
    return PlayOptions(**given)


@example("""
    sparkops playbook show deploy
    sparkops playbook lint drain.yml
""")
@click.group(cls=VerbGroup)
def playbook() -> None:
    """Show the included playbooks or check your own."""


@example("sparkops playbook list")
@playbook.command(name="list", logged=False)
def names() -> PlaybookOptions:
    """List the included playbooks."""
    return PlaybookOptions("")


@example("sparkops playbook show rolling-restart > mine.yml")
@playbook.command(logged=False)
@click.argument("name", type=PLAYBOOK)
def show(**given: Any) -> PlaybookOptions:
    """Print an included playbook, so that you can copy and change it."""
    return PlaybookOptions(**given)


@example("sparkops playbook lint drain.yml")
@playbook.command(logged=False)
@click.argument("file", type=PLAYBOOK_FILE)
@EXTRA
def lint(file: str, extra: Mapping[str, Any]) -> PlaybookOptions:
    """Check a playbook without contacting a node."""
    return PlaybookOptions(file, extra)


@example("""
    sparkops run -- uptime
    sparkops run --become --limit spark1 -- dmesg --level err
""")
@click.command(cls=NodeCommand, context_settings={"allow_extra_args": True, "allow_interspersed_args": False})
@click.option("--become", is_flag=True, help="Run the command through sudo.")
@seconds("--timeout", "1m", "Stop the command on a node after this time.")
@click.pass_context
def run(context: click.Context, /, **given: Any) -> RunOptions:
    """Run a command on every selected node.

    The words after `--` are sent unchanged; no shell interprets them.
    """
    words = line(context).extra
    if context.args:
        raise click.UsageError(f"write -- before the command: `sparkops run -- {shlex.join(context.args)}`", context)
    if not words:
        raise click.UsageError("the command is missing: `sparkops run -- COMMAND`", context)
    return RunOptions(target(), words, **given)
