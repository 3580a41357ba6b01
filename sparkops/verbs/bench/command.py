"""The verbs of `bench`: measure, look at what was measured, compare it."""

from typing import Any

import click

from sparkops.cli.completion import NODE, RECIPE, SUITE
from sparkops.cli.shape import VerbGroup, example
from sparkops.cli.shared_options import together
from sparkops.cli.where import api_key, on_nodes_by_sudo
from sparkops.verbs.bench.options import BenchOptions, CompareOptions, RecordsOptions, TopologiesOptions


@click.group(cls=VerbGroup)
def bench() -> None:
    """Measure a deployment, keep and compare the results."""


_measuring = together(
    click.option("--suite", default="smoke", show_default=True, type=SUITE, help="A suite of `sparkops bench suites`."),
    click.option(
        "--set", "sets", multiple=True, metavar="K=V", help="Change the suite: concurrency=1,2, runs=5, … (repeatable)."
    ),
    click.option("--tokenizer", metavar="FILE", help="A tokenizer.json on this machine [default: the node's]."),
    click.option("--book", metavar="FILE", help="Prompt text, a file on the node with --on [default: downloaded]."),
    click.option("--skip-coherence", is_flag=True, help="Skip the test question about the capital of France."),
    click.option("--on", type=NODE, help="Run llama-benchy in a container on this node."),
    on_nodes_by_sudo,
)


def _options(skip_coherence: bool, **given: Any) -> BenchOptions:
    return BenchOptions(coherence=not skip_coherence, api_key=api_key(), **given)


@example("""
    sparkops bench run --suite sweep
    sparkops bench run --suite sweep --set concurrency=1,8 --set runs=5
    sparkops bench run --url http://10.0.0.11:8000 --model NAME --tokenizer tokenizer.json
""")
@bench.command()
@click.argument("deployment", required=False)
@_measuring
@click.option("--url", metavar="URL", help="Measure this endpoint, not a deployment; its key is $SPARKOPS_API_KEY.")
@click.option("--model", metavar="NAME", help="With --url: the model's name at the endpoint.")
@click.option("--label", metavar="TEXT", help="The name in tables and charts [default: the topology].")
@click.option("--resume", metavar="ID", help="Continue a run that ended early.")
def run(**given: Any) -> BenchOptions:
    """Measure a running deployment. Each point is stored as soon as it is measured.

    sparkops first drops the page caches, then samples the nodes during the run, and asks the engine again at the end.
    A failed request, a missing value or a GPU stuck at a low clock fails the run (exit 5). It then has no result.
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
    """Show the numbers of one run."""
    return RecordsOptions((name,))


@example("""
    sparkops bench export last --format csv -o run.csv
    sparkops bench export 20261120T1 20261120T2 --format html -o report.html
""")
@bench.command(logged=False)
@click.argument("names", nargs=-1, required=True)
@click.option("--format", type=click.Choice(["md", "csv", "json", "html", "svg"]), default="md", show_default=True)
@click.option("-o", "--output", metavar="FILE", help="The file to write [default: stdout]; for svg a directory.")
def export(**given: Any) -> RecordsOptions:
    """Write runs as tables, raw values, or a page with charts."""
    return RecordsOptions(**given)


@example("""
    sparkops bench compare 20261120T1 20261120T2 --vary topology
    sparkops bench compare last --reference
""")
@bench.command(logged=False)
@click.argument("names", nargs=-1, required=True)
@click.option("--vary", multiple=True, metavar="WHAT", help="These may differ: topology, flags, image, driver, ...")
@click.option("--reference", is_flag=True, help="Add the numbers that the recipe's sources published.")
@click.option("-o", "--output", metavar="FILE", help="Also write a page with charts.")
def compare(vary: tuple[str, ...], **given: Any) -> CompareOptions:
    """Compare runs. Exit 3 if they differ in more than --vary allows."""
    differing = frozenset(word.strip() for item in vary for word in item.split(",") if word.strip())
    return CompareOptions(vary=differing, **given)


@example("sparkops bench topologies --recipe openai-gpt-oss-120b --suite sweep -o report.html")
@bench.command()
@click.option("--recipe", type=RECIPE, help="A name from `sparkops recipe list`, or a file.")
@click.option("--topologies", default="solo,cluster,2x-solo", show_default=True, metavar="T,T", help="Measure these.")
@click.option("-o", "--output", metavar="FILE", help="Write the report as a page.")
@click.option("--anew", is_flag=True, help="Start over instead of continuing an interrupted command.")
@_measuring
def topologies(recipe: str | None, topologies: str, output: str | None, anew: bool, **given: Any) -> TopologiesOptions:
    """Deploy and measure each topology, then restore what served before.

    If a topology cannot be measured, the report gives the reason and sparkops measures the others. After an interrupt,
    run the command again to continue.
    """
    wanted = tuple(word.strip() for word in topologies.split(",") if word.strip())
    return TopologiesOptions(_options(**given), recipe, wanted, output, anew)
