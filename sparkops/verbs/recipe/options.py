"""Options of the verbs of recipes and rules. Only `lock` and `verify` reach nodes."""

from dataclasses import dataclass

from sparkops.core.hub_access import Access
from sparkops.core.target import Target


@dataclass(frozen=True)
class CatalogueOptions:
    """`recipe list` and `recipe search`: words to search for, or the nodes that the recipes should fit.

    `catalogue` lists only the recipes of a catalogue.
    """

    inventory: str | None = None
    limit: str | None = None
    words: tuple[str, ...] = ()
    catalogue: str | None = None


@dataclass(frozen=True)
class AddOptions:
    """`recipe add`: a URL or a directory."""

    origin: str
    name: str | None = None
    ref: str | None = None


@dataclass(frozen=True)
class NewOptions:
    """`recipe new`: the model, where its files are described, and the nodes that the recipe is for.

    `folder` None reads the hub. `memory` is the GB of each node.
    """

    model: str
    revision: str | None = None
    folder: str | None = None
    output: str | None = None
    topology: str | None = None
    memory: int = 128
    force: bool = False
    nodes: CatalogueOptions = CatalogueOptions()
    access: Access = Access()


@dataclass(frozen=True)
class UpdateOptions:
    """`recipe update`: one catalogue, or without a name all."""

    name: str | None = None
    ref: str | None = None


@dataclass(frozen=True)
class ShowOptions:
    """`recipe show`; with `topology`, as this topology serves it."""

    name: str
    topology: str | None = None


@dataclass(frozen=True)
class ExportOptions:
    """`recipe export` into a schema; with `topology`, as this topology serves it."""

    name: str
    schema: str
    topology: str | None = None


@dataclass(frozen=True)
class DiffOptions:
    """`recipe diff`: two recipes, each under its topology. `only` names what may differ."""

    a: str
    b: str
    topologies: tuple[str, ...] = ()
    only: tuple[str, ...] = ()


@dataclass(frozen=True)
class LockOptions:
    """`recipe lock`; `output` None means stdout."""

    where: Target
    deployment: str | None = None
    output: str | None = None


@dataclass(frozen=True)
class VerifyOptions:
    """`recipe verify`; `ignore` names what may differ, such as `driver` or `sparkops`."""

    where: Target
    file: str
    ignore: tuple[str, ...] = ()


@dataclass(frozen=True)
class AdviseOptions:
    """`advise`: what matters, how many requests at once, with which recipe, on which nodes."""

    goal: str
    concurrency: int
    recipe: str | None = None
    nodes: CatalogueOptions = CatalogueOptions()


@dataclass(frozen=True)
class LintOptions:
    """`lint`: files, as which topology, in which output format, by which flag table."""

    files: tuple[str, ...]
    topology: str | None = None
    format: str = "text"
    flags: str | None = None
