"""The verbs about what sparkops knows, without any node: rules, recipe, lint."""

from __future__ import annotations

import click

from sparkops.cli import table
from sparkops.cli.options import Advice, Known, Linting, Shelf
from sparkops.cli.shape import Ask, Command, Group, example, line


@example("sparkops rules cluster-lm-head")
@click.command(cls=Command)
@click.argument("rule", required=False, metavar="[ID]")
def rules(rule: str | None) -> Ask:
    """List the rules that every deploy is held to, or explain one."""
    return Ask("rules", Known(rule or ""), logged=False)


class Recipes(Group):
    """Has the verbs of this module, and those that the table imports when they are meant."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*super().list_commands(ctx), *table.LATER["recipe"]})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in table.LATER["recipe"]:
            found: click.Command = table.later("recipe", cmd_name)
            return found
        return super().get_command(ctx, cmd_name)


@example("sparkops recipe show openai-gpt-oss-120b --topology cluster")
@click.group(cls=Recipes)
def recipe() -> None:
    """List the recipes, or show one as it would be served."""


@example("sparkops recipe list")
@recipe.command("list")
@click.pass_context
def recipe_list(context: click.Context, /) -> Ask:
    """List the recipes, each with the topologies of your nodes that it fits.

    Your nodes are those of the inventory; without one, recipes are judged as for two.
    """
    return Ask("recipe list", _shelf(context), logged=False)


@example("sparkops recipe search tool calling")
@recipe.command("search")
@click.argument("words", nargs=-1, required=True, metavar="WORD...")
def recipe_search(words: tuple[str, ...]) -> Ask:
    """Find the recipes that mention every word: name, model, image, when and when not to use it."""
    return Ask("recipe search", Shelf(words=words), logged=False)


@example("sparkops recipe show openai-gpt-oss-120b --topology cluster")
@recipe.command("show")
@click.argument("name")
@click.option("--topology", metavar="T", help="As this topology would serve it [default: the first it is for].")
def recipe_show(name: str, topology: str | None) -> Ask:
    """Show a recipe: its command line, what it takes of memory, when to use it, and what others measured."""
    return Ask("recipe show", Known(name, topology), logged=False)


@example("""
    sparkops lint recipes/mine.yml --topology cluster
    sparkops lint recipes/*.yml --format sarif > lint.sarif
""")
@click.command(cls=Command)
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--topology", metavar="T", help="As this topology would serve it [default: each that its author allows].")
@click.option("--format", "form", type=click.Choice(["text", "json", "github", "sarif"]), default="text")
@click.option("--flags", metavar="FILE", help="Judge by this table of `vllm serve` options (`sparkops image flags`).")
@click.pass_context
def lint(context: click.Context, /, files: tuple[str, ...], topology: str | None, form: str, flags: str | None) -> Ask:
    """Hold recipe files to the rules, without any node.

    Ours, spark-vllm-docker's and sparkrun's.

    Exit code 3 when a rule would refuse to deploy one of them, 2 when one cannot be read.
    """
    if form == "json":
        line(context).flags["json"] = True
    return Ask("lint", Linting(files, topology, form, flags), logged=False)


@example("""
    sparkops advise --for decode --concurrency 8
    sparkops advise --for ttft --concurrency 32 --recipe openai-gpt-oss-120b
""")
@click.command(cls=Command)
@click.option("--for", "goal", type=click.Choice(["decode", "prefill", "ttft", "latency"]), required=True)
@click.option("--concurrency", type=click.IntRange(1), required=True, metavar="N", help="Requests at once.")
@click.option("--recipe", metavar="R", help="Which recipe [default: openai-gpt-oss-120b].")
@click.pass_context
def advise(context: click.Context, /, goal: str, concurrency: int, recipe: str | None) -> Ask:
    """Tell which topology serves a workload best, and whose word that is.

    For tokens out (decode), tokens in (prefill), the first token, or one request. From an article's decision table
    and measured comparisons, your own benchmarks first; where they differ, all are shown.
    """
    return Ask("advise", Advice(goal, concurrency, recipe, _shelf(context)), logged=False)


def _shelf(context: click.Context) -> Shelf:
    flags = line(context).flags
    return Shelf(flags.get("inventory"), flags.get("limit"))
