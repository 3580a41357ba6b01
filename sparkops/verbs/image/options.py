"""Options of the verbs of `image`."""

from dataclasses import dataclass, field

from sparkops.core.copying import COPY_STALL
from sparkops.core.target import Target


@dataclass(frozen=True)
class BuildOptions:
    """`target` is a recipe or an image. `context` and `dockerfile` are paths here and replace the recipe's `build`.

    `node` None is the first selected one; `force` builds even if an equal image exists.
    """

    where: Target
    target: str
    node: str | None = None
    context: str | None = None
    dockerfile: str | None = None
    args: tuple[str, ...] = ()
    force: bool = False
    mods: str | None = None
    """A directory with the recipe's mods, or `pinned`: builds an image with them on top of the recipe's."""


@dataclass(frozen=True)
class PullOptions:
    """`user` and `password` are for the registry; the password travels on stdin only."""

    where: Target
    image: str
    node: str | None = None
    user: str | None = None
    password: str | None = field(default=None, repr=False)


@dataclass(frozen=True)
class DistributeOptions:
    """`source` None is the first node that has the image. `stall` seconds without progress end a copy."""

    where: Target
    image: str
    source: str | None = None
    stall: float = COPY_STALL


@dataclass(frozen=True)
class FlagsOptions:
    """`image` may be a recipe's name; `fresh` reads the options even if they are stored."""

    where: Target
    image: str
    node: str | None = None
    fresh: bool = False


@dataclass(frozen=True)
class FileOptions:
    """For `export` and `import`: a file of this machine and one node."""

    where: Target
    file: str
    image: str | None = None
    node: str | None = None
    force: bool = False
