"""The verbs of models: fetch, verify, list, prune."""

from typing import Any

import click

from sparkops.cli.completion import NODE
from sparkops.cli.shape import VerbGroup, example
from sparkops.cli.shared_options import COPY_STALL
from sparkops.cli.where import access, on_nodes, on_nodes_by_sudo
from sparkops.core.target import NodesOptions, PruneOptions
from sparkops.verbs.model.options import FetchOptions


@click.group(cls=VerbGroup)
def model() -> None:
    """Download, copy, verify and remove models."""


@example("""
    sparkops model fetch openai/gpt-oss-120b
    sparkops model fetch Qwen/Qwen3-Coder-Next-FP8@main --on spark2
    sparkops model fetch meta-llama/Llama-3.3-70B-Instruct --token-stdin < token
    sparkops model fetch /srv/models/my-tune
""")
@model.command()
@click.argument("model", metavar="MODEL[@REVISION]")
@click.option("--on", "node", type=NODE, help="The node that downloads [default: one with the model, or the first].")
@click.option(
    "--exclude", multiple=True, metavar="GLOB", help="Skip more files than original/* and metal/* (repeatable)."
)
@click.option(
    "--token-stdin", is_flag=True, help="Read the Hugging Face token from stdin [default: $HF_TOKEN, else the node's]."
)
@click.option("--offline", is_flag=True, help="Do not contact the hub: copy what a node has, list missing files.")
@COPY_STALL
@on_nodes
def fetch(token_stdin: bool, **given: Any) -> FetchOptions:
    """Download a model on one node, verify it, and copy it to the others over the fabric (the CX7 link).

    The download is a background job; run the command again to follow it. MODEL may be a directory of a node.
    $HF_ENDPOINT, $https_proxy and $no_proxy are passed to the node.
    """
    return FetchOptions(access=access(token_stdin), **given)


@example("sparkops model verify openai/gpt-oss-120b")
@model.command()
@click.argument("name", metavar="MODEL[@REVISION]")
@on_nodes
def verify(**given: Any) -> NodesOptions:
    """Check every file of a model against its hash, on every node."""
    return NodesOptions(**given)


@example("sparkops model list")
@model.command("list")
@on_nodes
def listing(**given: Any) -> NodesOptions:
    """List the models in the nodes' caches, with partial downloads."""
    return NodesOptions(**given)


@example("""
    sparkops model prune
    sparkops model prune openai/gpt-oss-20b --yes
""")
@model.command()
@click.argument("names", metavar="[MODEL[@REVISION]]...", nargs=-1)
@click.option("--yes", is_flag=True, help="Do not ask before removing.")
@on_nodes_by_sudo
def prune(**given: Any) -> PruneOptions:
    """Remove the named models; without names, partial downloads and replaced revisions.

    Images and models that a deployment or its rollback needs are kept.
    """
    return PruneOptions(**given)
