"""The verbs of images: build, pull, distribute, compare, prune, export, import."""

from typing import Any

import click

from sparkops.cli.completion import NODE, RECIPE
from sparkops.cli.shape import VerbGroup, example
from sparkops.cli.shared_options import COPY_STALL
from sparkops.cli.where import WAIT, on_nodes, piped, target
from sparkops.core.target import NodesOptions, PruneOptions
from sparkops.verbs.image.options import BuildOptions, DistributeOptions, FileOptions, FlagsOptions, PullOptions

ON = click.option("--on", "node", type=NODE, help="The node to use [default: the first of the selected nodes].")
NAME = click.argument("image", metavar="NAME")


@click.group(cls=VerbGroup)
def image() -> None:
    """Build, pull, copy and compare engine images."""


@example("""
    sparkops image build openai-gpt-oss-120b
    sparkops image build vllm-node-mxfp4 --on spark2
    sparkops image build my-vllm --context ./my-vllm --arg BUILD_JOBS=8
    sparkops image build their-recipe.yaml --mods ~/spark-vllm-docker
""")
@image.command()
@click.argument("target", type=RECIPE, metavar="RECIPE|NAME")
@ON
@click.option("--context", metavar="DIR", help="Build from this directory instead of the recipe's `build`.")
@click.option("--dockerfile", metavar="FILE", help="The Dockerfile; it must be inside the context.")
@click.option("--arg", "args", multiple=True, metavar="K=V", help="A build argument (repeatable).")
@click.option(
    "--mods",
    metavar="DIR|pinned",
    help="Add the recipe's mods from DIR or a catalogue, or (pinned) from their sources.",
)
@click.option("--force", is_flag=True, help="Build again, even if nothing changed.")
@on_nodes
def build(**given: Any) -> BuildOptions:
    """Build an image on one node, as a background job.

    Run the command again to follow a running build. If no file and no argument changed, sparkops does not build again.
    """
    return BuildOptions(**given)


@example("""
    sparkops image pull vllm/vllm-openai:v0.28.0
    sparkops image pull nvcr.io/nvidia/vllm:26.04-py3 --user '$oauthtoken' < ngc-key
""")
@image.command()
@NAME
@ON
@click.option(
    "--user", metavar="NAME", help="Log in to the registry; the password is $SPARKOPS_REGISTRY_PASSWORD, else stdin."
)
def pull(user: str | None, **given: Any) -> PullOptions:
    """Pull an image on one node: NAME, NAME:TAG, or NAME:TAG@DIGEST for exactly one image."""
    password = piped("registry password", "SPARKOPS_REGISTRY_PASSWORD") if user else None
    return PullOptions(target(), user=user, password=password, **given)


@example("sparkops image distribute vllm-node-mxfp4")
@image.command()
@NAME
@click.option("--from", "source", type=NODE, help="The node to copy from [default: a node that has the image].")
@COPY_STALL
@on_nodes
def distribute(**given: Any) -> DistributeOptions:
    """Copy an image to all nodes, from node to node over the fabric (the CX7 link)."""
    return DistributeOptions(**given)


@example("sparkops image list")
@image.command("list")
@on_nodes
def listing(**given: Any) -> NodesOptions:
    """List the nodes' images and mark each that differs between nodes."""
    return NodesOptions(**given)


@example("sparkops image verify vllm-node-mxfp4")
@image.command()
@click.argument("name", metavar="[NAME]", required=False)
@on_nodes
def verify(**given: Any) -> NodesOptions:
    """Check that all nodes have equal images (or one equal image): layers, configuration, platform."""
    return NodesOptions(**given)


@example("""
    sparkops image flags vllm-node-mxfp4
    sparkops image flags vllm-node --json > vllm-node.flags.json
""")
@image.command()
@click.argument("image", type=RECIPE, metavar="NAME|RECIPE")
@click.option("--on", "node", type=NODE, help="The node to use [default: the first that has the image].")
@click.option("--fresh", is_flag=True, help="Read the options again, even if they are stored.")
@on_nodes
def flags(**given: Any) -> FlagsOptions:
    """Read which options `vllm serve` has in an image. `plan`, `deploy` and `lint` then refuse other options.

    sparkops stores the options on this machine. It reads them again only if the image has changed.
    """
    return FlagsOptions(**given)


@example("""
    sparkops image prune
    sparkops image prune vllm-node-mxfp4:january --yes
""")
@image.command()
@click.argument("names", metavar="[NAME]...", nargs=-1)
@click.option("--yes", is_flag=True, help="Do not ask before removing.")
@WAIT
@on_nodes
def prune(**given: Any) -> PruneOptions:
    """Remove the named images. Without names, remove the images that a newer build has replaced.

    sparkops keeps an image that a deployment or its rollback needs.
    """
    return PruneOptions(**given)


@example("sparkops image export vllm-node-mxfp4 mxfp4.tar")
@image.command()
@NAME
@click.argument("file", metavar="FILE")
@ON
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
@on_nodes
def export(**given: Any) -> FileOptions:
    """Save an image to a file on this machine, in case it cannot be built again."""
    return FileOptions(**given)


@example("sparkops image import mxfp4.tar --on spark1")
@image.command("import")
@click.argument("file", metavar="FILE")
@ON
@on_nodes
def load(**given: Any) -> FileOptions:
    """Load an image from a file on this machine into one node."""
    return FileOptions(**given)
