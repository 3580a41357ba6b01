"""Where a missing image comes from, and the command that gets it: a build, a pull, or what a person must do first."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from sparkops.core import mods
from sparkops.core.build import known
from sparkops.core.recipe import Recipe

TAKES = "25 GB, up to an hour"
"""A build of the mxfp4 image: 54 minutes at kubis.ai, 20 to 40 in the comments of its Dockerfile."""


@dataclass(frozen=True)
class ImageSource:
    """`way` None: no command gets the image, and `says` is the one line that says what is needed."""

    way: Literal["build", "mods", "pull"] | None
    says: str
    takes: str = ""

    @property
    def command(self) -> str:
        """The command, in backticks where prose surrounds it."""
        return f"`{self.says}`" if self.way else self.says


def image_source(image: str, recipe: Recipe | None = None) -> ImageSource:
    """How to get this image, which the recipe runs; without a recipe, by the image's name alone."""
    if image.startswith(mods.PREFIX):
        return _with_mods(recipe)
    if recipe and recipe.build and image == recipe.container:
        return ImageSource("build", f"sparkops image build {shlex.quote(recipe.target)}", TAKES)
    if known(image):
        return ImageSource("build", f"sparkops image build {image}", TAKES)
    if "/" in image:
        return ImageSource("pull", f"sparkops image pull {image}")
    return ImageSource(
        None,
        f"{image} is a local name that no registry has: check it against `sparkops image list`, or add the key `build` "
        "to the recipe that names this image",
    )


def _with_mods(recipe: Recipe | None) -> ImageSource:
    if recipe is None:
        return ImageSource(None, "the image contains mods: build it from the recipe that names them, with --mods")
    command = f"sparkops image build {shlex.quote(recipe.target)}"
    if recipe.catalogue:
        return ImageSource("mods", f"{command} --mods {recipe.catalogue}", "25 GB")
    unpinned = [mod for mod in mods.needed(recipe.mods) if mods.source(recipe.mod_sources.get(mod, "")) is None]
    if unpinned:
        names = ", ".join(map(mods.short, unpinned))
        return ImageSource(
            None, f"build the mods {names} into the image: clone their repository, then run {command} with --mods CLONE"
        )
    return ImageSource("mods", f"{command} --mods pinned", "25 GB")


def copy_newest(image: str, created: Mapping[str, str]) -> str:
    """The command that copies the newest build to all nodes; `created` is when each node's image was built."""
    return f"sparkops image distribute {image} --from {max(created, key=lambda node: created[node])}"
