"""The verbs about what sparkops knows, without any node: rules, recipe, lint."""

from __future__ import annotations

import click

from sparkops.cli.shape import Ask, Command, Group, example
from sparkops.cli.wishes import Known


@example("sparkops rules cluster-lm-head")
@click.command(cls=Command)
@click.argument("rule", required=False, metavar="[ID]")
def rules(rule: str | None) -> Ask:
    """List the rules that every deploy is held to, or explain one."""
    return Ask("rules", Known(rule or ""), logged=False)


@example("sparkops recipe show openai-gpt-oss-120b --topology cluster")
@click.group(cls=Group)
def recipe() -> None:
    """List the recipes, or show one as it would be served."""


@example("sparkops recipe list")
@recipe.command("list")
def recipe_list() -> Ask:
    """List the recipes that come with sparkops."""
    return Ask("recipe list", Known(), logged=False)


@example("sparkops recipe show openai-gpt-oss-120b --topology cluster")
@recipe.command("show")
@click.argument("name")
@click.option("--topology", metavar="T", help="As this topology would serve it: overrides and rules applied.")
def recipe_show(name: str, topology: str | None) -> Ask:
    """Show a recipe: each setting with its origin, and why it is so."""
    return Ask("recipe show", Known(name, topology), logged=False)


@example("sparkops lint recipes/mine.yml --topology cluster")
@click.command(cls=Command)
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--topology", metavar="T", help="As this topology would serve it [default: solo and cluster].")
def lint(files: tuple[str, ...], topology: str | None) -> Ask:
    """Hold recipe files to the rules, without any node.

    Exit code 3 when a rule would refuse to deploy one of them.
    """
    return Ask("lint", Known(topology=topology, files=files), logged=False)
