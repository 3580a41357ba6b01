"""What `image build` builds: the image of a recipe, with its mods if asked, or of a directory. Reaches no node."""

from dataclasses import dataclass, replace
from pathlib import Path

from sparkops.core import build as building
from sparkops.core import mods
from sparkops.core.build import Build
from sparkops.core.image_sources import image_source
from sparkops.core.recipe import Recipe
from sparkops.core.schema import did_you_mean
from sparkops.errors import UsageError
from sparkops.files import mods as load_mods
from sparkops.files import recipes
from sparkops.files.build_context import Context, pack
from sparkops.files.package import PACKAGE
from sparkops.verbs.image.options import BuildOptions
from sparkops.verbs.image.pull import references


@dataclass(frozen=True)
class BuildSource:
    """A build with its files from this machine."""

    build: Build
    context: Context | None
    base: str | None = None
    """An image that the node must have."""

    @property
    def digest(self) -> str:
        return self.build.digest(self.context.digest if self.context else "")


def wanted(options: BuildOptions) -> BuildSource:
    """Read what to build, before any node is reached."""
    if options.mods:
        return _with_mods(options)
    if options.context or options.dockerfile:
        return source_of(_named_here(options))
    if options.args:
        raise UsageError("--arg needs --context or --dockerfile; a recipe sets its arguments in `build`")
    return source_of(build_of(options.target))


def _with_mods(options: BuildOptions) -> BuildSource:
    """The recipe's image with the recipe's mods built in."""
    recipe = recipes.recipe(options.target)
    if not mods.needed(recipe.mods):
        raise UsageError(
            f"the recipe {recipe.source} has no mods",
            hint=f"build it without --mods: `sparkops image build {options.target}`",
        )
    if options.context or options.dockerfile or options.args:
        raise UsageError("--mods cannot be used with --context, --dockerfile or --arg")
    return _derived(recipe, str(options.mods))


def _derived(recipe: Recipe, directory: str) -> BuildSource:
    context = load_mods.context(directory, recipe.container, recipe.mods, recipe.mod_sources)
    return BuildSource(Build(mods.derived(recipe.container, recipe.mods), context="."), context, recipe.container)


def build_for(image: str, recipe: Recipe) -> BuildSource:
    """How to build an image that this recipe runs: with its mods, by its `build`, or by the image's name.

    The mods are pinned by their sources or by the recipe's catalogue.
    """
    if image.startswith(mods.PREFIX):
        return _derived(recipe, recipe.catalogue or load_mods.PINNED)
    return source_of(build_of(recipe.target if recipe.build and image == recipe.container else image))


def source_of(build: Build) -> BuildSource:
    return BuildSource(build, None if build.git else pack(Path(build.context or "."), build.dockerfile))


def build_of(target: str) -> Build:
    """Return the build of a recipe (name or path), or of an image that a recipe runs."""
    names = recipes.recipe_names()
    if recipes.names_recipe(target):
        recipe = recipes.recipe(target)
        given = recipe.build or building.known(recipe.container)
        if not given:
            raise UsageError(
                f"{recipe.source}: has no `build`, so sparkops cannot build {recipe.container}",
                hint=image_source(recipe.container, recipe).command,
            )
        return _beside(building.read(recipe.container, given, recipe.source), recipe.source)
    for _, recipe in recipes.readable():
        if recipe.build and _plain(recipe.container) == _plain(target):
            return _beside(building.read(target, recipe.build, recipe.source), recipe.source)
    if given := building.known(target):
        return _beside(building.read(target, given, target), str(PACKAGE / target))
    raise UsageError(
        f"sparkops does not know how to build {target}{did_you_mean(target, names)}",
        hint=f"{image_source(target).command}; or build a directory: --context DIR",
    )


def _named_here(options: BuildOptions) -> Build:
    args = dict(_pair(text) for text in options.args)
    path = Path(options.dockerfile) if options.dockerfile else None
    context = Path(options.context) if options.context else path.parent if path else Path()
    try:
        inside = path.resolve().relative_to(context.resolve()).as_posix() if path else None
    except ValueError:
        raise UsageError(f"the Dockerfile {path} is not inside the context {context}", hint="move it there") from None
    references(options.target)
    if "@" in options.target:
        raise UsageError(f"{options.target}: an image is built under a name, not a digest: NAME or NAME:TAG")
    return Build(options.target, str(context), inside, args)


def _pair(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise UsageError(f"--arg {text}: must be NAME=VALUE")
    return key, value


def _beside(build: Build, source: str) -> Build:
    """Return the build with its context relative to the recipe's directory."""
    if build.context is None:
        return build
    return replace(build, context=str(recipes.folder(source, build.context)))


def _plain(image: str) -> str:
    return image.removesuffix(":latest")
