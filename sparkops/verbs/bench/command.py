"""The verbs of `bench`: measure, look at what was measured, compare it."""

from __future__ import annotations

from typing import Any

import click

from sparkops.cli.completion import NODE, RECIPE, SUITE
from sparkops.cli.shape import Invocation, VerbGroup, example
from sparkops.cli.shared_options import BECOME
from sparkops.cli.where import api_key, where
from sparkops.verbs.bench.options import BenchOptions, CompareOptions, RecordsOptions
from sparkops.verbs.topologies.options import TopologiesOptions


@click.group(cls=VerbGroup)
def bench() -> None:
    """Measure a deployment, keep and compare the results."""


def _measuring(function: Any) -> Any:
    options = (
        click.option("--suite", default="smoke", show_default=True, type=SUITE, help="`sparkops bench suites`."),
        click.option("--set", "sets", multiple=True, metavar="K=V", help="concurrency=1,2, runs=5, ...; repeat it."),
        click.option("--tokenizer", metavar="FILE", help="tokenizer.json here [default: the node's]."),
        click.option("--book", metavar="FILE", help="The text of the prompts [default: llama-benchy fetches one]."),
        click.option("--skip-coherence", is_flag=True, help="Do not ask for the capital of France first."),
        click.option("--on", type=NODE, help="Run llama-benchy in a container on this node; --book is there."),
        BECOME,
    )
    for option in reversed(options):
        function = option(function)
    return function


def _options(context: click.Context, ask_become_pass: bool, skip_coherence: bool, **given: Any) -> BenchOptions:
    return BenchOptions(where(context, ask_become_pass), coherence=not skip_coherence, api_key=api_key(), **given)


@example("""
    sparkops bench run --suite sweep
    sparkops bench run --suite sweep --set concurrency=1,8 --set runs=5
    sparkops bench run --url http://10.0.0.11:8000 --model NAME --tokenizer tokenizer.json
""")
@bench.command()
@click.argument("deployment", required=False)
@_measuring
@click.option("--url", metavar="URL", help="Any endpoint instead of a deployment; its key is $SPARKOPS_API_KEY.")
@click.option("--model", metavar="NAME", help="With --url: the served model's name.")
@click.option("--label", metavar="TEXT", help="What tables and charts call it [default: the topology].")
@click.option("--resume", metavar="ID", help="Go on with a run that ended early.")
@click.pass_context
def run(context: click.Context, /, **given: Any) -> Invocation:
    """Measure what serves; each point is kept as soon as it is measured.

    Page caches are dropped before, nodes are watched meanwhile, and the engine is asked after. A failed request, a
    null, a wedged GPU make the run a failure (exit 5), never a number.
    """
    return Invocation("bench run", _options(context, **given))


@example("sparkops bench suites")
@bench.command()
def suites() -> Invocation:
    """List the suites: what each asks for, and where it comes from."""
    return Invocation("bench suites", RecordsOptions(), logged=False)


@example("sparkops bench list")
@bench.command(name="list")
def listing() -> Invocation:
    """List what was measured from here."""
    return Invocation("bench list", RecordsOptions(), logged=False)


@example("sparkops bench show last")
@bench.command()
@click.argument("name")
def show(name: str) -> Invocation:
    """Show one run's numbers."""
    return Invocation("bench show", RecordsOptions((name,)), logged=False)


@example("""
    sparkops bench export last --format csv -o run.csv
    sparkops bench export 20261120T1 20261120T2 --format html -o report.html
""")
@bench.command()
@click.argument("names", nargs=-1, required=True)
@click.option("--format", type=click.Choice(["md", "csv", "json", "html", "svg"]), default="md", show_default=True)
@click.option("-o", "--output", metavar="FILE", help="A file [default: stdout]; for svg a directory.")
def export(names: tuple[str, ...], format: str, output: str | None) -> Invocation:  # noqa: A002  (the option's name)
    """Write runs as tables, as raw values, or as a page with charts that needs no network."""
    return Invocation("bench export", RecordsOptions(names, format, output), logged=False)


@example("""
    sparkops bench compare 20261120T1 20261120T2 --vary topology
    sparkops bench compare last --reference
""")
@bench.command()
@click.argument("names", nargs=-1, required=True)
@click.option("--vary", multiple=True, metavar="WHAT", help="What may differ: topology, flags, image, driver, ...")
@click.option("--reference", is_flag=True, help="Beside what the recipe's sources published.")
@click.option("-o", "--output", metavar="FILE", help="Also as a page with charts.")
def compare(names: tuple[str, ...], vary: tuple[str, ...], reference: bool, output: str | None) -> Invocation:
    """Put runs side by side; refuse (exit 3) when more differs than --vary names."""
    given = frozenset(word.strip() for item in vary for word in item.split(",") if word.strip())
    return Invocation("bench compare", CompareOptions(names, given, reference, output), logged=False)


@example("sparkops bench topologies --recipe openai-gpt-oss-120b --suite sweep -o report.html")
@bench.command()
@click.option("--recipe", type=RECIPE, help="A name from `sparkops recipe list`, or a file.")
@click.option("--topologies", default="solo,cluster,2x-solo", show_default=True, metavar="T,T")
@click.option("-o", "--output", metavar="FILE", help="The report as a page.")
@click.option("--anew", is_flag=True, help="Measure again what an interrupted experiment has measured.")
@_measuring
@click.pass_context
def topologies(
    context: click.Context, /, recipe: str | None, topologies: str, output: str | None, anew: bool, **given: Any
) -> Invocation:
    """Deploy and measure one topology after the other, then bring back what served before.

    A topology that cannot be measured is named in the report, and the others are measured. After an interrupt the same
    command goes on with what is left.
    """
    wanted = tuple(word.strip() for word in topologies.split(",") if word.strip())
    return Invocation("bench topologies", TopologiesOptions(_options(context, **given), recipe, wanted, output, anew))
