"""The verbs that put a model on nodes and take it away: plan, deploy, rollback, stop."""

from typing import Any

import click

from sparkops.cli.completion import RECIPE, RULE, TOPOLOGY
from sparkops.cli.shape import EngineCommand, VerbCommand, example, line
from sparkops.cli.shared_options import DEADLINE, STALL, together
from sparkops.cli.where import access, api_key, on_nodes_by_sudo
from sparkops.core.hub_access import Access
from sparkops.core.plan import WaitLimits
from sparkops.verbs.deploy.options import PlanOptions, RollbackOptions, StopOptions

_engine_options = together(
    click.option("--topology", required=True, type=TOPOLOGY, help="solo, 2x-solo (3x-, ...) or cluster."),
    click.option("--recipe", type=RECIPE, help="A name from `sparkops recipe list`, or a file."),
    click.option("--name", metavar="NAME", help="The deployment's name [default: the recipe's]."),
    click.option("--executor", type=click.Choice(["ray", "mp"]), help="Join the cluster by Ray or by vLLM (mp)."),
    click.option("--set", "sets", multiple=True, metavar="K=V", help="Set args.FLAG=V or env.NAME=V (repeatable)."),
    click.option("--allow", type=RULE, multiple=True, help="Switch a rule or check off for this run (repeatable)."),
    click.option("--expect", metavar="ID", help="Deploy only if the plan's id equals ID; otherwise exit 3."),
    click.option("--alongside", is_flag=True, help="Keep other deployments; serve on the first free port."),
    click.option("--refresh", is_flag=True, help="Replace an equal deployment if an older sparkops started it."),
    click.option("--setup", is_flag=True, help="First get missing images and models (may take hours)."),
    click.option("--proxy", type=click.Choice(["first", "all"]), default="first", show_default=True,
                 help="Run the proxy of <n>x-solo on the first node or on all."),
    STALL, DEADLINE, on_nodes_by_sudo,
)  # fmt: skip


def _plan_options(stall: float, deadline: float, allow: tuple[str, ...], **given: Any) -> PlanOptions:
    return PlanOptions(
        limits=WaitLimits(stall, deadline),
        extra=line(click.get_current_context()).extra,
        allow=frozenset(allow),
        api_key=api_key(),
        access=access() if given["setup"] else Access(),
        **given,
    )


@example("sparkops -i lab plan --topology cluster")
@click.command(cls=EngineCommand)
@_engine_options
def plan(**given: Any) -> PlanOptions:
    """Show what deploy would do, command by command.

    This reads the nodes and changes nothing.
    """
    return _plan_options(**given)


BENCH = click.option(
    "--bench",
    is_flag=False,
    flag_value="recipe",
    metavar="[SUITE]",
    help="After the deploy, run the recipe's benchmark, or a suite from `sparkops bench suites`.",
)
NO_BENCH = click.option("--no-bench", is_flag=True, help="Skip the benchmark, even if the recipe enables it.")


@example("""
    sparkops deploy --topology cluster
    sparkops deploy --recipe qwen3-next-80b-a3b-instruct-fp8 --topology solo --limit spark1
    sparkops deploy --topology cluster --set args.max-model-len=65536 -- --seed 7
    sparkops deploy --topology cluster --setup
    sparkops deploy --topology solo --bench=smoke
""")
@click.command(cls=EngineCommand)
@_engine_options
@BENCH
@NO_BENCH
def deploy(bench: str | None, no_bench: bool, **given: Any) -> PlanOptions:
    """Start a model and verify that it serves.

    If the nodes already run this, nothing changes. Replaced containers are stopped and kept for `sparkops rollback`.
    Clients need the API key: $SPARKOPS_API_KEY, else a key that sparkops makes once. `sparkops key` prints it.
    """
    return _plan_options(bench="" if no_bench else bench, **given)


@example("sparkops stop")
@click.command(cls=VerbCommand)
@click.argument("deployment", required=False)
@on_nodes_by_sudo
def stop(**given: Any) -> StopOptions:
    """Stop what sparkops started and verify that it is gone.

    Without a name, this stops every deployment on these nodes. It never touches containers that sparkops did not start.
    """
    return StopOptions(**given)


@example("sparkops rollback")
@click.command(cls=VerbCommand)
@click.argument("deployment", required=False)
@STALL
@DEADLINE
@on_nodes_by_sudo
def rollback(stall: float, deadline: float, **given: Any) -> RollbackOptions:
    """Start again what served before the last deploy."""
    return RollbackOptions(limits=WaitLimits(stall, deadline), **given)
