"""The verbs over images: where they come from, and that all nodes have the same."""

import click

from sparkops.cli.completion import NODE, RECIPE
from sparkops.cli.shape import Invocation, VerbGroup, example
from sparkops.cli.shared_options import BECOME, COPY_STALL
from sparkops.cli.where import piped, where
from sparkops.verbs.image.options import (
    BuildOptions,
    DistributeOptions,
    FileOptions,
    FlagsOptions,
    ImagesOptions,
    PruneOptions,
    PullOptions,
)

ON = click.option("--on", "node", type=NODE, help="The node to use [default: the first].")
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
@click.option("--context", "directory", metavar="DIR", help="Build this directory instead of the recipe's.")
@click.option("--dockerfile", metavar="FILE", help="The Dockerfile, relative to the context.")
@click.option("--arg", "args", multiple=True, metavar="K=V", help="A build argument (repeatable).")
@click.option("--mods", metavar="DIR|pinned", help="Build the recipe's mods into its image, from DIR or as pinned.")
@click.option("--force", is_flag=True, help="Build even if an image of these inputs exists.")
@BECOME
@click.pass_context
def build(
    context: click.Context,
    /,
    target: str,
    node: str | None,
    directory: str | None,
    dockerfile: str | None,
    args: tuple[str, ...],
    mods: str | None,
    force: bool,
    ask_become_pass: bool,
) -> Invocation:
    """Build an image on one node, as a background job.

    Run the command again to follow a running build. An image of equal inputs is not built again.
    """
    options = BuildOptions(where(context, ask_become_pass), target, node, directory, dockerfile, args, force, mods)
    return Invocation("image build", options)


@example("""
    sparkops image pull ghcr.io/berriai/litellm:main-stable
    sparkops image pull nvcr.io/nvidia/vllm:26.04-py3 --user '$oauthtoken' < ngc-key
""")
@image.command()
@NAME
@ON
@click.option("--user", metavar="NAME", help="Log in to the registry; reads the password from stdin.")
@BECOME
@click.pass_context
def pull(
    context: click.Context, /, image: str, node: str | None, user: str | None, ask_become_pass: bool
) -> Invocation:
    """Pull an image on one node: NAME, NAME:TAG, or NAME:TAG@DIGEST to pin it."""
    password = piped("registry password", "SPARKOPS_REGISTRY_PASSWORD") if user else None
    return Invocation("image pull", PullOptions(where(context, ask_become_pass), image, node, user, password))


@example("sparkops image distribute vllm-node-mxfp4")
@image.command()
@NAME
@click.option("--from", "source", type=NODE, help="The node whose image all get [default: a node that has it].")
@COPY_STALL
@BECOME
@click.pass_context
def distribute(
    context: click.Context, /, image: str, source: str | None, stall: float, ask_become_pass: bool
) -> Invocation:
    """Copy an image to all nodes over the fabric, from node to node."""
    return Invocation("image distribute", DistributeOptions(where(context, ask_become_pass), image, source, stall))


@example("sparkops image list")
@image.command("list")
@BECOME
@click.pass_context
def listing(context: click.Context, /, ask_become_pass: bool) -> Invocation:
    """List the nodes' images and mark those that differ."""
    return Invocation("image list", ImagesOptions(where(context, ask_become_pass)))


@example("sparkops image verify vllm-node-mxfp4")
@image.command()
@click.argument("image", metavar="[NAME]", required=False)
@BECOME
@click.pass_context
def verify(context: click.Context, /, image: str | None, ask_become_pass: bool) -> Invocation:
    """Compare an image (or all) on all nodes: layers, configuration, platform."""
    return Invocation("image verify", ImagesOptions(where(context, ask_become_pass), image))


@example("""
    sparkops image flags vllm-node-mxfp4
    sparkops image flags vllm-node --json > vllm-node.flags.json
""")
@image.command()
@click.argument("image", type=RECIPE, metavar="NAME|RECIPE")
@ON
@click.option("--fresh", is_flag=True, help="Read the flags again, even if they are known.")
@BECOME
@click.pass_context
def flags(context: click.Context, /, image: str, node: str | None, fresh: bool, ask_become_pass: bool) -> Invocation:
    """Read the options of an image's `vllm serve`; plan and lint then use them.

    The options are stored on this machine under the image's fingerprint, so they are read once.
    """
    return Invocation("image flags", FlagsOptions(where(context, ask_become_pass), image, node, fresh))


@example("""
    sparkops image prune
    sparkops image prune vllm-node-mxfp4:january --yes
""")
@image.command()
@click.argument("images", metavar="[NAME]...", nargs=-1)
@click.option("--yes", is_flag=True, help="Do not ask before removing.")
@BECOME
@click.pass_context
def prune(context: click.Context, /, images: tuple[str, ...], yes: bool, ask_become_pass: bool) -> Invocation:
    """Remove images by name, or those that lost their name to a newer build.

    Images and models that a deployment or its rollback needs are kept.
    """
    return Invocation("image prune", PruneOptions(where(context, ask_become_pass), images, yes))


@example("sparkops image export vllm-node-mxfp4 mxfp4.tar")
@image.command()
@NAME
@click.argument("file", metavar="FILE")
@ON
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
@BECOME
@click.pass_context
def export(
    context: click.Context, /, image: str, file: str, node: str | None, force: bool, ask_become_pass: bool
) -> Invocation:
    """Save an image to a file on this machine: a later build may fail."""
    return Invocation("image export", FileOptions(where(context, ask_become_pass), file, image, node, force))


@example("sparkops image import mxfp4.tar --on spark1")
@image.command("import")
@click.argument("file", metavar="FILE")
@ON
@BECOME
@click.pass_context
def load(context: click.Context, /, file: str, node: str | None, ask_become_pass: bool) -> Invocation:
    """Load an image from a file on this machine into one node."""
    return Invocation("image import", FileOptions(where(context, ask_become_pass), file, None, node))
