"""The verbs of recipes and rules. All but `recipe lock` and `recipe verify` work without nodes."""

from dataclasses import replace
from typing import Any

import click

from sparkops.cli.completion import CATALOGUE, DEPLOYMENT, RECIPE, RULE, TOPOLOGY
from sparkops.cli.shape import VerbCommand, VerbGroup, example, line
from sparkops.cli.where import access, inventory, on_nodes
from sparkops.core.lockfile import IGNORABLE
from sparkops.core.target import NameOptions
from sparkops.verbs.recipe.options import (
    AddOptions,
    AdviseOptions,
    CatalogueOptions,
    DiffOptions,
    ExportOptions,
    LintOptions,
    LockOptions,
    NewOptions,
    ShowOptions,
    UpdateOptions,
    VerifyOptions,
)

ONLY = ("topology", "command", "env", "image", "mounts", "model")
KINDS = ("playbook", "recipe", "inventory", "fleet")


@example("sparkops rules cluster-lm-head")
@click.command(cls=VerbCommand, logged=False)
@click.argument("name", type=RULE, default="", metavar="[ID]")
def rules(**given: Any) -> NameOptions:
    """List or explain the rules of a deploy."""
    return NameOptions(**given)


@example("sparkops recipe show openai-gpt-oss-120b --topology cluster")
@click.group(cls=VerbGroup)
def recipe() -> None:
    """List, show, compare, export and lock recipes; keep those of others."""


@example("""
    sparkops recipe list
    sparkops recipe list spark-vllm-docker
""")
@recipe.command("list", logged=False)
@click.argument("name", type=CATALOGUE, required=False, metavar="[CATALOGUE]")
@click.pass_context
def recipe_list(context: click.Context, /, name: str | None) -> CatalogueOptions:
    """List the recipes, and in which topologies each fits on your nodes.

    With CATALOGUE, list the recipes of this catalogue, else your own and those of sparkops, and the catalogues.
    Without an inventory, sparkops assumes two nodes.
    """
    return replace(_catalogue(context), catalogue=name)


@example("""
    sparkops recipe add https://github.com/eugr/spark-vllm-docker
    sparkops recipe add git@git.example.org:team/recipes.git --name team --ref v2
    sparkops recipe add ~/src/spark-vllm-docker
""")
@recipe.command("add")
@click.argument("origin", metavar="URL|DIR")
@click.option("--name", metavar="NAME", help="The name of the catalogue [default: the name of the repository].")
@click.option("--ref", metavar="REF", help="A branch, a tag or a whole commit [default: the repository's own branch].")
def recipe_add(**given: Any) -> AddOptions:
    """Keep the recipes of a repository as a catalogue.

    sparkops fetches one commit with git, stores its files, and runs nothing of them. Then use a recipe by the name
    CATALOGUE/RECIPE in every command. A directory in a git repository is stored as it was committed last.
    """
    return AddOptions(**given)


@example("""
    sparkops recipe new Qwen/Qwen3-32B
    sparkops recipe new Qwen/Qwen3-32B --from ~/models/Qwen3-32B -o recipes/mine.yml
""")
@recipe.command("new")
@click.argument("model", metavar="ORG/NAME")
@click.option("--revision", metavar="REF", help="A branch, a tag or a whole commit of the model [default: main].")
@click.option("--from", "folder", metavar="DIR", help="Read this directory (the files, or a cache) instead of the hub.")
@click.option("-o", "--output", metavar="FILE", help="The file to write [default: recipes/NAME.yml].")
@click.option("--topology", type=click.Choice(["solo", "cluster"]), help="[default: the smallest that fits].")
@click.option("--memory", type=click.Choice(["64", "128"]), default="128", help="GB of each node.")
@click.option("--force", is_flag=True, help="Overwrite the file.")
@click.pass_context
def recipe_new(context: click.Context, /, memory: str, **given: Any) -> NewOptions:
    """Write a first recipe for a model of the hub.

    sparkops reads the model's config.json and the sizes of its files, a few MB and no weights, and proposes image,
    topology, memory, context and parsers for your nodes. Above each value stands the reason.
    $HF_ENDPOINT, $HF_TOKEN and the proxy variables count. Without an inventory, sparkops assumes two nodes.
    """
    return NewOptions(nodes=_catalogue(context), access=access(), memory=int(memory), **given)


@example("""
    sparkops recipe update
    sparkops recipe update spark-vllm-docker --ref 0123456789abcdef0123456789abcdef01234567
""")
@recipe.command("update")
@click.argument("name", type=CATALOGUE, required=False, metavar="[CATALOGUE]")
@click.option("--ref", metavar="REF", help="Move to this branch, tag or whole commit, and stay there.")
def recipe_update(**given: Any) -> UpdateOptions:
    """Get the newest commit of a catalogue, or of all, and show what changed."""
    return UpdateOptions(**given)


@example("sparkops recipe remove spark-vllm-docker")
@recipe.command("remove")
@click.argument("name", type=CATALOGUE, metavar="CATALOGUE")
def recipe_remove(**given: Any) -> NameOptions:
    """Remove a catalogue from this machine. Deployments of its recipes continue."""
    return NameOptions(**given)


@example("sparkops recipe search tool calling")
@recipe.command("search", logged=False)
@click.argument("words", nargs=-1, required=True, metavar="WORD...")
def recipe_search(**given: Any) -> CatalogueOptions:
    """Find the recipes that have all these words in their names, models, images or notes."""
    return CatalogueOptions(**given)


@example("sparkops recipe show openai-gpt-oss-120b --topology cluster")
@recipe.command("show", logged=False)
@click.argument("name", type=RECIPE)
@click.option("--topology", type=TOPOLOGY, help="The topology to show [default: the first that the recipe allows].")
def recipe_show(**given: Any) -> ShowOptions:
    """Show a recipe: command line, memory, when to use it, published results."""
    return ShowOptions(**given)


@example("""
    sparkops recipe export openai-gpt-oss-120b --schema 2 > gpt-oss.yaml
    sparkops recipe export theirs/minimax.yaml --schema sparkops > recipes/minimax.yml
""")
@recipe.command("export", logged=False)
@click.argument("name", type=RECIPE)
@click.option(
    "--schema", type=click.Choice(["1", "2", "sparkops"]), required=True, help="1: spark-vllm-docker; 2: sparkrun."
)
@click.option("--topology", type=TOPOLOGY, help="Export what runs in this topology, after the rules.")
def recipe_export(**given: Any) -> ExportOptions:
    """Print a recipe in the format of another launcher. The vLLM command does not change."""
    return ExportOptions(**given)


@example("""
    sparkops recipe diff openai-gpt-oss-120b openai-gpt-oss-120b-claude
    sparkops recipe diff mine mine --topology cluster 2x-solo --only topology
""")
@recipe.command("diff", logged=False)
@click.argument("a", type=RECIPE)
@click.argument("b", type=RECIPE)
@click.option("--topology", "topologies", nargs=2, metavar="TA TB", help="Compare A in topology TA with B in TB.")
@click.option("--only", type=click.Choice(ONLY), multiple=True, help="Exit 3 if more than this differs (repeatable).")
def recipe_diff(topologies: tuple[str, str] | None, **given: Any) -> DiffOptions:
    """Show what differs between two recipes: command line, environment, image, mounts.

    `by topology` marks a difference that disappears if both recipes use one topology, `by recipe` any other difference.
    """
    return DiffOptions(topologies=topologies or (), **given)


@example("""
    sparkops recipe lock -o gpt-oss.lock.json
    sparkops recipe verify gpt-oss.lock.json
""")
@recipe.command("lock")
@click.argument("deployment", required=False, type=DEPLOYMENT)
@click.option("-o", "--output", metavar="FILE", help="The file to write [default: stdout].")
@on_nodes
def recipe_lock(**given: Any) -> LockOptions:
    """Write a lock file of what runs on each node: flags, variables, image, model, driver, kernel."""
    return LockOptions(**given)


@example("""
    sparkops recipe verify gpt-oss.lock.json
    sparkops recipe verify gpt-oss.lock.json --ignore sparkops --ignore kernel
""")
@recipe.command("verify")
@click.argument("file")
@click.option("--ignore", type=click.Choice(IGNORABLE), multiple=True, help="What may differ (repeatable).")
@on_nodes
def recipe_verify(**given: Any) -> VerifyOptions:
    """Compare what runs with a lock file of `sparkops recipe lock`.

    Exit 0: equal; 3: different, with a list; 4: a node could not be reached.
    """
    return VerifyOptions(**given)


@example("""
    sparkops lint recipes/mine.yml --topology cluster
    sparkops lint recipes/*.yml --format sarif > lint.sarif
""")
@click.command(cls=VerbCommand, logged=False)
@click.argument("files", type=RECIPE, nargs=-1, required=True, metavar="FILE...")
@click.option("--topology", type=TOPOLOGY, help="The topology to check for [default: each that the recipe allows].")
@click.option("--format", type=click.Choice(["text", "json", "github", "sarif"]), default="text", help="Output format.")
@click.option("--flags", metavar="FILE", help="Check flags with this file from `sparkops image flags --json`.")
@click.pass_context
def lint(context: click.Context, /, **given: Any) -> LintOptions:
    """Check recipe files against the rules.

    It reads recipes of sparkops, spark-vllm-docker, sparkrun, NVIDIA and recipes.vllm.ai, and needs no nodes.

    Exit 3: a rule would refuse a deploy; 2: a file cannot be read.
    """
    if given["format"] == "json":
        line(context).flags["json"] = True
    return LintOptions(**given)


@example("""
    sparkops advise --for decode --concurrency 8
    sparkops advise --for ttft --concurrency 32 --recipe openai-gpt-oss-120b
""")
@click.command(cls=VerbCommand, logged=False)
@click.option(
    "--for", "goal", type=click.Choice(["decode", "prefill", "ttft", "latency"]), required=True, help="The goal."
)
@click.option("--concurrency", type=click.IntRange(1), required=True, metavar="N", help="Number of requests at once.")
@click.option("--recipe", type=RECIPE, help="The recipe [default: openai-gpt-oss-120b].")
@click.pass_context
def advise(context: click.Context, /, **given: Any) -> AdviseOptions:
    """Suggest a topology for a workload.

    The goal is decode (most answer tokens/s), prefill (most prompt tokens/s), ttft (shortest time to the first token)
    or latency (most tokens/s for each request). Your own benchmarks count first, then published results.
    """
    return AdviseOptions(nodes=_catalogue(context), **given)


@example("sparkops schema playbook > playbook.schema.json")
@click.command(cls=VerbCommand, logged=False)
@click.argument("name", type=click.Choice(KINDS))
def schema(**given: Any) -> NameOptions:
    """Print a JSON Schema for your editor.

    If the first line of your file is `# yaml-language-server: $schema=playbook.schema.json`, an editor with a YAML
    language server completes keys and marks mistakes.
    """
    return NameOptions(**given)


def _catalogue(context: click.Context) -> CatalogueOptions:
    return CatalogueOptions(inventory(context), line(context).flags.get("limit"))
