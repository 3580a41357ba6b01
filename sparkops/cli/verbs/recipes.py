"""The verbs that put recipes beside each other, into other forms, and beside what runs."""

from __future__ import annotations

import click

from sparkops.asks.recipes import LockOptions, VerifyOptions
from sparkops.cli.options import Comparing, Exporting
from sparkops.cli.shape import Ask, Command, example
from sparkops.cli.verbs.serve import BECOME
from sparkops.cli.where import where
from sparkops.core.lockfile import IGNORABLE

ONLY = ("topology", "command", "env", "image", "mounts", "model")


@example("""
    sparkops recipe export openai-gpt-oss-120b --schema 2 > gpt-oss.yaml
    sparkops recipe export theirs/minimax.yaml --schema sparkops > recipes/minimax.yml
""")
@click.command(cls=Command)
@click.argument("name")
@click.option(
    "--schema", type=click.Choice(["1", "2", "sparkops"]), required=True, help="spark-vllm-docker, sparkrun or ours."
)
@click.option("--topology", metavar="T", help="As this topology serves it, rules applied [default: as it stands].")
def export(name: str, schema: str, topology: str | None) -> Ask:
    """Print a recipe, of whichever schema, as a file of another that starts the same engine."""
    return Ask("recipe export", Exporting(name, schema, topology), logged=False)


@example("""
    sparkops recipe diff openai-gpt-oss-120b openai-gpt-oss-120b-claude
    sparkops recipe diff mine mine --topology cluster 2x-solo --only topology
""")
@click.command(cls=Command)
@click.argument("a")
@click.argument("b")
@click.option("--topology", "topologies", nargs=2, metavar="TA TB", help="As these topologies serve them.")
@click.option("--only", type=click.Choice(ONLY), multiple=True, help="Refuse (exit 3) any other difference; repeat it.")
def diff(a: str, b: str, topologies: tuple[str, str] | None, only: tuple[str, ...]) -> Ask:
    """Show only what differs between two recipes: command line, environment, image, mounts.

    A difference is the topology's when both recipes are equal there under one topology.
    """
    return Ask("recipe diff", Comparing(a, b, topologies or (), only), logged=False)


@example("""
    sparkops recipe lock -o gpt-oss.lock.json
    sparkops recipe verify gpt-oss.lock.json
""")
@click.command(cls=Command)
@click.argument("deployment", required=False)
@click.option("-o", "--output", metavar="FILE", help="Where to write it [default: stdout].")
@BECOME
@click.pass_context
def lock(context: click.Context, /, deployment: str | None, output: str | None, ask_become_pass: bool) -> Ask:
    """Write down what runs: flags, variables, image, model, driver, kernel and sparkops, node by node."""
    return Ask("recipe lock", LockOptions(where(context, ask_become_pass), deployment, output))


@example("""
    sparkops recipe verify gpt-oss.lock.json
    sparkops recipe verify gpt-oss.lock.json --ignore sparkops --ignore kernel
""")
@click.command(cls=Command)
@click.argument("file")
@click.option("--ignore", type=click.Choice(IGNORABLE), multiple=True, help="What may differ; repeat it.")
@BECOME
@click.pass_context
def verify(context: click.Context, /, file: str, ignore: tuple[str, ...], ask_become_pass: bool) -> Ask:
    """Tell whether what runs is what was locked, for instance what was benchmarked.

    Exit 0: it is; 3: it is not, and what differs; 4: a node could not be reached.
    """
    return Ask("recipe verify", VerifyOptions(where(context, ask_become_pass), file, ignore))
