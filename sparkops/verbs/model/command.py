"""The verbs of models: fetch, verify, list, prune; activate and sleep for deployments on demand."""

from typing import Any

import click

from sparkops.cli.completion import DEPLOYMENT, NODE
from sparkops.cli.shape import VerbGroup, example
from sparkops.cli.shared_options import COPY_STALL
from sparkops.cli.where import WAIT, access, on_nodes
from sparkops.core.target import NodesOptions, PruneOptions
from sparkops.verbs.model.options import FetchOptions, SwitchOptions


@click.group(cls=VerbGroup)
def model() -> None:
    """Download, copy, verify and remove models; start and stop those on demand."""


@example("""
    sparkops model fetch openai/gpt-oss-120b
    sparkops model fetch Qwen/Qwen3-Coder-Next-FP8@main --on spark2
    sparkops model fetch meta-llama/Llama-3.3-70B-Instruct --token-stdin < token
    sparkops model fetch /srv/models/my-tune
""")
@model.command()
@click.argument("model", metavar="MODEL[@REVISION]")
@click.option(
    "--on", "node", type=NODE, help="The node that downloads [default: one that has the model, else the first]."
)
@click.option(
    "--exclude", multiple=True, metavar="GLOB", help="Skip these files, in addition to original/* and metal/*."
)
@click.option(
    "--token-stdin", is_flag=True, help="Read the Hugging Face token from stdin [default: $HF_TOKEN, else the node's]."
)
@click.option("--offline", is_flag=True, help="Do not contact Hugging Face; copy only files that a node has.")
@COPY_STALL
@on_nodes
def fetch(token_stdin: bool, **given: Any) -> FetchOptions:
    """Download a model on one node, verify it, and copy it to the others over the fabric (the CX7 link).

    The download is a background job; run the command again to follow it. MODEL may be a directory on a node.
    $HF_ENDPOINT, $https_proxy and $no_proxy are passed to the node.
    """
    return FetchOptions(access=access(token_stdin), **given)


@example("sparkops model verify openai/gpt-oss-120b")
@model.command()
@click.argument("name", metavar="MODEL[@REVISION]")
@on_nodes
def verify(**given: Any) -> NodesOptions:
    """Check every file of a model against its hash on every node, and that all revisions are equal."""
    return NodesOptions(**given)


@example("sparkops model list")
@model.command("list")
@on_nodes
def listing(**given: Any) -> NodesOptions:
    """List the models and partial downloads in the Hugging Face caches of the nodes."""
    return NodesOptions(**given)


@example("""
    sparkops model prune
    sparkops model prune openai/gpt-oss-20b --yes
""")
@model.command()
@click.argument("names", metavar="[MODEL[@REVISION]]...", nargs=-1)
@click.option("--yes", is_flag=True, help="Do not ask before removing.")
@WAIT
@on_nodes
def prune(**given: Any) -> PruneOptions:
    """Remove the named models. Without names, remove partial downloads and replaced revisions.

    sparkops keeps a model that a deployment on these nodes or its rollback needs.
    """
    return PruneOptions(**given)


@example("sparkops model activate coder")
@model.command()
@click.argument("deployment", type=DEPLOYMENT, metavar="NAME")
@on_nodes
def activate(**given: Any) -> SwitchOptions:
    """Start a deployment on demand before somebody asks for it, and wait until it answers.

    The endpoint does it, as for a request: it stops what must make room, once that is idle, and waits for memory.
    """
    return SwitchOptions(**given)


@example("sparkops model sleep coder")
@model.command()
@click.argument("deployment", type=DEPLOYMENT, metavar="NAME")
@on_nodes
def sleep(**given: Any) -> SwitchOptions:
    """Stop a deployment on demand before its idle time is over. The next request starts it again.

    One that somebody uses is not stopped.
    """
    return SwitchOptions(**given)
