"""The verb that checks nodes and fixes what is safe to fix."""

from typing import Any

import click

from sparkops.cli.completion import CHECK, RECIPE, TOPOLOGY
from sparkops.cli.shape import Invocation, VerbCommand, example
from sparkops.cli.where import WAIT, target
from sparkops.core.target import NameOptions
from sparkops.verbs.preflight.options import PreflightOptions


@example("""
    sparkops preflight
    sparkops preflight --topology solo --recipe qwen3-next-80b-a3b-instruct-fp8 --limit spark1
    sparkops preflight --only cx7-speed,cx7-pings -v
    sparkops preflight --explain memory-fits
    sparkops preflight --fix --ask-become-pass
""")
@click.command(cls=VerbCommand)
@click.option("--topology", type=TOPOLOGY, help="The topology to check for [default: cluster; solo for one node].")
@click.option("--recipe", type=RECIPE, help="The recipe to check for [default: the one that deploy would use].")
@click.option("--only", type=CHECK, multiple=True, metavar="ID,...", help="Run only these checks.")
@click.option("--skip", type=CHECK, multiple=True, metavar="ID,...", help="Skip these checks.")
@click.option("--deep", is_flag=True, help="Also run nvidia-smi in a container on each node, and measure the cables.")
@click.option("--fix", is_flag=True, help="Show the fixes that are safe and can be undone, ask, then run them.")
@click.option("--yes", is_flag=True, help="With --fix: do not ask.")
@click.option("--list", "listing", is_flag=True, help="List the checks; contact no node.")
@click.option("--explain", type=CHECK, help="Explain a check: reason, source and remedy.")
@WAIT
def preflight(
    only: tuple[str, ...],
    skip: tuple[str, ...],
    listing: bool,
    explain: str | None,
    **given: Any,
) -> PreflightOptions | Invocation:
    """Check the nodes and show the fixes.

    Exit 0: no check fails; 3: a check fails; 4: a node could not be reached (the others are checked).
    """
    if listing or explain is not None:
        verb = "preflight list" if listing else "preflight explain"
        return Invocation(verb, NameOptions(explain or ""), logged=False)
    if given["yes"] and not given["fix"]:
        raise click.UsageError("--yes works only with --fix", click.get_current_context())
    return PreflightOptions(target(), only=_ids(only), skip=_ids(skip), **given)


def _ids(given: tuple[str, ...]) -> tuple[str, ...]:
    """Return the ids of a repeatable option that also takes commas."""
    return tuple(name.strip() for text in given for name in text.split(",") if name.strip())
