"""The verbs of recipes and rules. All but `recipe lock` and `recipe verify` work without nodes."""

from __future__ import annotations

import click

from sparkops.cli.completion import RECIPE, RULE, TOPOLOGY
from sparkops.cli.shape import Invocation, VerbCommand, VerbGroup, example, line
from sparkops.cli.shared_options import BECOME
from sparkops.cli.where import inventory, where
from sparkops.core.lockfile import IGNORABLE
from sparkops.verbs.recipe.options import (
    AdviseOptions,
    CatalogueOptions,
    DiffOptions,
    ExportOptions,
    LintOptions,
    LockOptions,
    RulesOptions,
    SchemaOptions,
    ShowOptions,
    VerifyOptions,
)

ONLY = ("topology", "command", "env", "image", "mounts", "model")
KINDS = ("playbook", "recipe", "inventory")


@example("sparkops rules cluster-lm-head")
@click.command(cls=VerbCommand)
@click.argument("rule", type=RULE, required=False, metavar="[ID]")
def rules(rule: str | None) -> Invocation:
    """List the rules that every deploy follows."""
    return Invocation("rules", RulesOptions(rule), logged=False)


@example("sparkops recipe show openai-gpt-oss-120b --topology cluster")
@click.group(cls=VerbGroup)
def recipe() -> None:
    """List, show, compare, export and lock recipes."""


@example("sparkops recipe list")
@recipe.command("list")
@click.pass_context
def recipe_list(context: click.Context, /) -> Invocation:
    """List the recipes, each with the topologies of your nodes that it fits.

    Your nodes are those of the inventory; without one, recipes are judged as for two.
    """
    return Invocation("recipe list", _catalogue(context), logged=False)


@example("sparkops recipe search tool calling")
@recipe.command("search")
@click.argument("words", nargs=-1, required=True, metavar="WORD...")
def recipe_search(words: tuple[str, ...]) -> Invocation:
    """Find the recipes that mention every word: name, model, image, when and when not to use it."""
    return Invocation("recipe search", CatalogueOptions(words=words), logged=False)


@example("sparkops recipe show openai-gpt-oss-120b --topology cluster")
@recipe.command("show")
@click.argument("name", type=RECIPE)
@click.option("--topology", type=TOPOLOGY, help="As this topology would serve it [default: the first it is for].")
def recipe_show(name: str, topology: str | None) -> Invocation:
    """Show a recipe: its command line, what it takes of memory, when to use it, and what others measured."""
    return Invocation("recipe show", ShowOptions(name, topology), logged=False)


@example("""
    sparkops recipe export openai-gpt-oss-120b --schema 2 > gpt-oss.yaml
    sparkops recipe export theirs/minimax.yaml --schema sparkops > recipes/minimax.yml
""")
@recipe.command("export")
@click.argument("name", type=RECIPE)
@click.option(
    "--schema", type=click.Choice(["1", "2", "sparkops"]), required=True, help="spark-vllm-docker, sparkrun or ours."
)
@click.option("--topology", type=TOPOLOGY, help="As this topology serves it, rules applied [default: as it stands].")
def recipe_export(name: str, schema: str, topology: str | None) -> Invocation:
    """Print a recipe, of whichever schema, as a file of another that starts the same engine."""
    return Invocation("recipe export", ExportOptions(name, schema, topology), logged=False)


@example("""
    sparkops recipe diff openai-gpt-oss-120b openai-gpt-oss-120b-claude
    sparkops recipe diff mine mine --topology cluster 2x-solo --only topology
""")
@recipe.command("diff")
@click.argument("a", type=RECIPE)
@click.argument("b", type=RECIPE)
@click.option("--topology", "topologies", nargs=2, metavar="TA TB", help="As these topologies serve them.")
@click.option("--only", type=click.Choice(ONLY), multiple=True, help="Refuse (exit 3) any other difference; repeat it.")
def recipe_diff(a: str, b: str, topologies: tuple[str, str] | None, only: tuple[str, ...]) -> Invocation:
    """Show only what differs between two recipes: command line, environment, image, mounts.

    A difference is the topology's when both recipes are equal there under one topology.
    """
    return Invocation("recipe diff", DiffOptions(a, b, topologies or (), only), logged=False)


@example("""
    sparkops recipe lock -o gpt-oss.lock.json
    sparkops recipe verify gpt-oss.lock.json
""")
@recipe.command("lock")
@click.argument("deployment", required=False)
@click.option("-o", "--output", metavar="FILE", help="Where to write it [default: stdout].")
@BECOME
@click.pass_context
def recipe_lock(
    context: click.Context, /, deployment: str | None, output: str | None, ask_become_pass: bool
) -> Invocation:
    """Write down what runs: flags, variables, image, model, driver, kernel and sparkops, node by node."""
    return Invocation("recipe lock", LockOptions(where(context, ask_become_pass), deployment, output))


@example("""
    sparkops recipe verify gpt-oss.lock.json
    sparkops recipe verify gpt-oss.lock.json --ignore sparkops --ignore kernel
""")
@recipe.command("verify")
@click.argument("file")
@click.option("--ignore", type=click.Choice(IGNORABLE), multiple=True, help="What may differ; repeat it.")
@BECOME
@click.pass_context
def recipe_verify(context: click.Context, /, file: str, ignore: tuple[str, ...], ask_become_pass: bool) -> Invocation:
    """Tell whether what runs is what was locked, for instance what was benchmarked.

    Exit 0: it is; 3: it is not, and what differs; 4: a node could not be reached.
    """
    return Invocation("recipe verify", VerifyOptions(where(context, ask_become_pass), file, ignore))


@example("""
    sparkops lint recipes/mine.yml --topology cluster
    sparkops lint recipes/*.yml --format sarif > lint.sarif
""")
@click.command(cls=VerbCommand)
@click.argument("files", type=RECIPE, nargs=-1, required=True, metavar="FILE...")
@click.option(
    "--topology", type=TOPOLOGY, help="As this topology would serve it [default: each that its author allows]."
)
@click.option("--format", "form", type=click.Choice(["text", "json", "github", "sarif"]), default="text")
@click.option("--flags", metavar="FILE", help="Judge by this table of `vllm serve` options (`sparkops image flags`).")
@click.pass_context
def lint(
    context: click.Context, /, files: tuple[str, ...], topology: str | None, form: str, flags: str | None
) -> Invocation:
    """Check recipe files against the rules, without nodes.

    Ours, spark-vllm-docker's and sparkrun's.

    Exit code 3 when a rule would refuse to deploy one of them, 2 when one cannot be read.
    """
    if form == "json":
        line(context).flags["json"] = True
    return Invocation("lint", LintOptions(files, topology, form, flags), logged=False)


@example("""
    sparkops advise --for decode --concurrency 8
    sparkops advise --for ttft --concurrency 32 --recipe openai-gpt-oss-120b
""")
@click.command(cls=VerbCommand)
@click.option("--for", "goal", type=click.Choice(["decode", "prefill", "ttft", "latency"]), required=True)
@click.option("--concurrency", type=click.IntRange(1), required=True, metavar="N", help="Requests at once.")
@click.option("--recipe", type=RECIPE, help="Which recipe [default: openai-gpt-oss-120b].")
@click.pass_context
def advise(context: click.Context, /, goal: str, concurrency: int, recipe: str | None) -> Invocation:
    """Recommend a topology for a workload.

    For tokens out (decode), tokens in (prefill), the first token, or one request. From an article's decision table
    and measured comparisons, your own benchmarks first; where they differ, all are shown.
    """
    return Invocation("advise", AdviseOptions(goal, concurrency, recipe, _catalogue(context)), logged=False)


@example("sparkops schema playbook > playbook.schema.json")
@click.command(cls=VerbCommand)
@click.argument("kind", type=click.Choice(KINDS))
def schema(kind: str) -> Invocation:
    """Print the JSON Schema of a kind of file.

    With it an editor that speaks YAML completes keys and marks mistakes: write
    `# yaml-language-server: $schema=playbook.schema.json` as the file's first line.
    """
    return Invocation("schema", SchemaOptions(kind), logged=False)


def _catalogue(context: click.Context) -> CatalogueOptions:
    return CatalogueOptions(inventory(context), line(context).flag("limit"))
