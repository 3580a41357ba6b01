"""The verbs of `bench`: measure, look at what was measured, compare it."""

from typing import Any

import click

from sparkops.cli.completion import DEPLOYMENT, NODE, RECIPE, SUITE
from sparkops.cli.shape import VerbGroup, example
from sparkops.cli.shared_options import together
from sparkops.cli.where import WAIT, api_key, on_nodes
from sparkops.verbs.bench.options import BenchOptions, CompareOptions, RecordsOptions, TopologiesOptions

FORMATS = ("md", "csv", "json", "html", "svg")


@click.group(cls=VerbGroup)
def bench() -> None:
    """Measure deployments, store the results and compare them."""


_measuring = together(
    click.option("--suite", default="smoke", type=SUITE, help="One of `sparkops bench suites`."),
    click.option("--set", "sets", multiple=True, metavar="K=V",
                 help="Change the suite: pp (prompt tokens), tg (answer tokens), depth (context tokens), concurrency, "
                 "runs or prefix-caching, as in concurrency=1,2 (repeatable)."),
    click.option("--tokenizer", metavar="FILE",
                 help="The model's tokenizer.json on this machine [default: copied from the node]."),
    click.option("--book", metavar="FILE", help="Text for the prompts; with --on, a file on that node [default: a text "
                 "that comes with sparkops]."),
    click.option("--skip-coherence", is_flag=True,
                 help="Do not first ask the model a test question (the capital of France)."),
    click.option("--on", type=NODE, help="Run llama-benchy in a container on this node [default: on this machine]."),
    on_nodes,
)  # fmt: skip


def _options(skip_coherence: bool, **given: Any) -> BenchOptions:
    return BenchOptions(coherence=not skip_coherence, api_key=api_key(), **given)


@example("""
    sparkops bench run --suite sweep
    sparkops bench run --suite sweep --set concurrency=1,8 --set runs=5
    sparkops bench run --url http://10.0.0.11:8000 --model NAME --tokenizer tokenizer.json
""")
@bench.command()
@click.argument("deployment", required=False, type=DEPLOYMENT)
@_measuring
@click.option("--url", metavar="URL", help="Measure the server at this URL; $SPARKOPS_API_KEY is its API key.")
@click.option("--model", metavar="NAME", help="With --url: the model's name, as the server lists it.")
@click.option("--label", metavar="TEXT", help="Name of the run in tables and charts [default: the topology].")
@click.option("--resume", metavar="ID", help="Continue the interrupted run with this ID.")
def run(**given: Any) -> BenchOptions:
    """Measure a running deployment.

    Each combination of prompt size and concurrency is stored as soon as it is measured. sparkops drops the page caches
    first, records power, clock and memory of the nodes during the run, and sends a test request at the end. If a
    request fails, a value is missing or a GPU stays at a low clock, the run has no valid result (exit 5).
    """
    return _options(**given)


@example("sparkops bench suites")
@bench.command(logged=False)
def suites() -> RecordsOptions:
    """List the suites: what each suite measures, and its source."""
    return RecordsOptions()


@example("sparkops bench list")
@bench.command(name="list", logged=False)
def listing() -> RecordsOptions:
    """List the runs that were measured from this machine."""
    return RecordsOptions()


@example("sparkops bench show last")
@bench.command(logged=False)
@click.argument("name")
def show(name: str) -> RecordsOptions:
    """Show the results of one run: an ID from `sparkops bench list`, or `last`."""
    return RecordsOptions((name,))


@example("""
    sparkops bench export last --format csv -o run.csv
    sparkops bench export 20261120T1 20261120T2 -o report.html
""")
@bench.command(logged=False)
@click.argument("names", nargs=-1, required=True)
@click.option("--format", type=click.Choice(FORMATS), help="[default: as the name of the file ends, else md].")
@click.option("-o", "--output", metavar="FILE", help="The file [default: stdout]; with --format svg, a directory.")
def export(format: str | None, output: str | None, **given: Any) -> RecordsOptions:  # noqa: A002  the option's name
    """Export runs as tables (md), values (csv, json), a page with charts (html) or charts (svg)."""
    ending = (output or "").rpartition(".")[2].lower()
    return RecordsOptions(format=format or (ending if ending in FORMATS else "md"), output=output, **given)


@example("""
    sparkops bench compare 20261120T1 20261120T2 --vary topology
    sparkops bench compare last --reference
    sparkops bench compare last --reference --recipe their-recipe/recipe.yaml
""")
@bench.command(logged=False)
@click.argument("names", nargs=-1, required=True)
@click.option(
    "--vary",
    multiple=True,
    metavar="WHAT",
    help="Allow a difference between the runs (repeatable): topology, flags, env, image, model, driver, kernel, "
    "nodes, sparkops, suite, text (of the prompts), or revision (recipe, mounts, served name).",
)
@click.option("--reference", is_flag=True, help="Compare one run with the published results of its recipe.")
@click.option("--recipe", type=RECIPE, help="Take the published results of this recipe [default: that of the run].")
@click.option("-o", "--output", metavar="FILE", help="Also write an HTML page with charts.")
def compare(vary: tuple[str, ...], **given: Any) -> CompareOptions:
    """Compare runs of `sparkops bench list` with the first one. Exit 3 if they differ in more than --vary allows."""
    differing = frozenset(word.strip() for item in vary for word in item.split(",") if word.strip())
    return CompareOptions(vary=differing, **given)


@example("sparkops bench topologies --recipe openai-gpt-oss-120b --suite sweep -o report.html")
@bench.command()
@click.option("--recipe", type=RECIPE, help="A name from `sparkops recipe list`, or a file [default: as in deploy].")
@click.option("--topologies", default="solo,cluster,2x-solo", metavar="T,T", help="What to measure.")
@click.option("-o", "--output", metavar="FILE", help="Also write the comparison as an HTML page.")
@click.option("--anew", is_flag=True, help="Start over; do not continue an interrupted run of this command.")
@_measuring
@WAIT
def topologies(recipe: str | None, topologies: str, output: str | None, anew: bool, **given: Any) -> TopologiesOptions:
    """Deploy and measure each topology, then restore what served before.

    If a topology cannot be measured, sparkops shows the reason and measures the others. After an interrupt, run the
    command again to continue.
    """
    wanted = tuple(word.strip() for word in topologies.split(",") if word.strip())
    return TopologiesOptions(_options(**given), recipe, wanted, output, anew)
