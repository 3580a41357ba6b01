"""Options of `preflight`."""

from dataclasses import dataclass

from sparkops.core.target import Target


@dataclass(frozen=True)
class PreflightOptions:
    """`only` and `skip` are ids of checks. `topology` None means a cluster of the selected nodes, or solo for one.

    `fix` shows a plan and asks; `yes` carries it out without asking. `deep` runs a container with the GPU and measures
    the cables.
    """

    where: Target
    topology: str | None = None
    recipe: str | None = None
    only: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()
    fix: bool = False
    yes: bool = False
    deep: bool = False
