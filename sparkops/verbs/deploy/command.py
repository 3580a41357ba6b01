"""The verbs that put a model on nodes and take it away: plan, deploy, stop, start, restart, rollback."""

import re
from typing import Any

import click

from sparkops.cli.completion import DEPLOYMENT, RECIPE, RULE, NameType
from sparkops.cli.shape import EngineCommand, VerbCommand, example, line
from sparkops.cli.shared_options import DEADLINE, STALL, together
from sparkops.cli.where import WAIT, access, api_key, on_nodes
from sparkops.core import topology
from sparkops.core.hub_access import Access
from sparkops.core.plan import WaitLimits
from sparkops.core.recipe import PORTS
from sparkops.verbs.deploy.options import PlanOptions, RollbackOptions, StartOptions, StopOptions

_NAMED = re.compile(r"(\d+x-)?(solo|cluster)")


class TopologyType(NameType):
    """A topology; where it is missing, the error lists them.

    It is judged with the command line, which a playbook reads before its first play.
    """

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        topology.parse(str(value))
        return value

    def get_missing_message(self, param: click.Parameter, ctx: click.Context | None) -> str:
        stray = next(filter(_NAMED.fullmatch, line(ctx).given), "") if ctx else ""
        meant = f"; did you mean `{ctx.command_path} --topology {stray}`?" if ctx and stray else ""
        return f"It is solo, 2x-solo, 3x-solo, ..., cluster or 2x-cluster, ...{meant}"


_engine_options = together(
    click.option("--topology", required=True, type=TopologyType("topologies", "T"),
                 help="solo (one node), 2x-solo, 3x-solo, ... (one copy of the model on each of "
                 "2, 3, ... nodes), cluster (one copy over several nodes) or 2x-cluster, ... (2, ... such copies)."),
    click.option("--recipe", type=RECIPE, help="A name from `sparkops recipe list`, or a file [default: "
                 "the recipe in the inventory, else openai-gpt-oss-120b]."),
    click.option("--name", metavar="NAME", help="The deployment's name [default: the recipe's name]."),
    click.option("--executor", type=click.Choice(["ray", "mp"]),
                 help="Join the nodes of a cluster by Ray or by vLLM (mp) [default: as the recipe "
                 "says, else Ray for the mxfp4 image and mp for others]."),
    click.option("--port", type=click.IntRange(*PORTS), metavar="N",
                 help="The port of the endpoint [default: the recipe's port, else the inventory's api_port, "
                 "else 8000]."),
    click.option("--set", "sets", multiple=True, metavar="K=V",
                 help="Set a vLLM flag (args.FLAG=V) or an environment variable (env.NAME=V); repeatable."),
    click.option("--allow", type=RULE, multiple=True, help="Switch off this rule or check for this run (repeatable)."),
    click.option("--expect", metavar="ID",
                 help="Deploy only the plan with this ID (see `plan`), or what runs already; else exit 3."),
    click.option("--alongside", is_flag=True, help="Do not stop deployments of other names; use the first free port."),
    click.option("--refresh", is_flag=True,
                 help="Replace containers that an older version of sparkops started, even if nothing else changes."),
    click.option("--at-once", is_flag=True,
                 help="Replace the copies of 2x-... all at once: faster, but the endpoint is down meanwhile."),
    click.option("--setup", is_flag=True, help="First get missing images and models (may take hours)."),
    click.option("--no-api-key", "open_access", is_flag=True,
                 help="Serve without an API key, to everyone who reaches the port (for a closed network)."),
    click.option("--proxy", type=click.Choice(["first", "all"]), default="first",
                 help="With several copies (2x-...): run the proxy on the first node or on all nodes."),
    STALL, DEADLINE, on_nodes,
)  # fmt: skip


def _plan_options(
    stall: float, deadline: float, allow: tuple[str, ...], port: int | None, sets: tuple[str, ...], **given: Any
) -> PlanOptions:
    return PlanOptions(
        sets=sets if port is None else (*sets, f"port={port}"),
        limits=WaitLimits(stall, deadline),
        extra=line(click.get_current_context()).extra,
        allow=frozenset(allow),
        api_key=api_key(),
        access=access() if given["setup"] else Access(),
        **given,
    )


@example("""
    sparkops -i lab plan --topology cluster
    sparkops -i lab plan --topology cluster --short
""")
@click.command(cls=EngineCommand)
@_engine_options
@click.option(
    "--short", is_flag=True, help="Show what changes and what it costs, without settings, steps and reasons of rules."
)
def plan(**given: Any) -> PlanOptions:
    """Show every command that deploy would run.

    This reads the nodes and changes nothing.
    """
    return _plan_options(**given)


BENCH = click.option(
    "--bench",
    is_flag=False,
    flag_value="recipe",
    metavar="[SUITE]",
    help="After the deploy, run this suite of `sparkops bench suites` [without SUITE: the recipe's benchmark].",
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
@WAIT
def deploy(bench: str | None, no_bench: bool, **given: Any) -> PlanOptions:
    """Start a model and verify that it serves.

    If the nodes already run this, nothing changes. Replaced containers are stopped and kept for `sparkops rollback`.
    Clients need an API key. It is $SPARKOPS_API_KEY if that is set, else a random key that the first deploy makes.
    `sparkops key` prints it. With --no-api-key, clients need none.
    """
    return _plan_options(bench="" if no_bench else bench, **given)


_DEPLOYMENT = click.argument("deployment", required=False, type=DEPLOYMENT)
_CHECK = click.option("--check", is_flag=True, help="Change nothing; show what would be done.")
_again = together(
    _DEPLOYMENT,
    _CHECK,
    STALL, DEADLINE, WAIT, on_nodes,
)  # fmt: skip


@example("sparkops stop")
@click.command(cls=VerbCommand)
@_DEPLOYMENT
@click.option("--remove", is_flag=True, help="Also remove the containers, so that `start` cannot start them again.")
@_CHECK
@WAIT
@on_nodes
def stop(**given: Any) -> StopOptions:
    """Stop what sparkops started.

    Without a name, this stops every deployment that has a container on these nodes. A deployment is stopped whole, also
    its containers on other nodes.
    The containers stay, without memory, for `sparkops start`. It never touches containers that sparkops did not start.
    """
    return StopOptions(**given)


def _start_options(stall: float, deadline: float, **given: Any) -> StartOptions:
    return StartOptions(limits=WaitLimits(stall, deadline), **given)


@example("""
    sparkops start
    sparkops start openai-gpt-oss-120b --check
""")
@click.command(cls=VerbCommand)
@_again
def start(**given: Any) -> StartOptions:
    """Start again what was stopped, and verify that it serves.

    Without a name, this starts everything that was stopped last on these nodes, by `sparkops stop` or by Docker.
    """
    return _start_options(**given)


@example("sparkops restart")
@click.command(cls=VerbCommand)
@_again
def restart(**given: Any) -> StartOptions:
    """Stop a deployment, start it again and verify it.

    With several copies (2x-solo, 2x-cluster, ...) they restart one after the other, and the endpoint continues to
    answer. The proxy is not restarted.
    """
    return _start_options(**given)


@example("sparkops rollback --check")
@click.command(cls=VerbCommand)
@click.option(
    "--to",
    metavar="HASH",
    help="Start the deployment whose hash begins with HASH, as `rollback --check` "
    "shows it. If it serves already, nothing changes.",
)
@_again
def rollback(stall: float, deadline: float, to: str | None, **given: Any) -> RollbackOptions:
    """Start the previous deployment again.

    sparkops first stops the deployment that replaced it. After `sparkops stop`, this starts what was stopped. The name
    of a stopped deployment starts it in place of what runs instead. A second `rollback` starts again what the first one
    stopped; with --to it changes nothing.
    """
    return RollbackOptions(limits=WaitLimits(stall, deadline), to=frozenset(filter(None, [to])), **given)
