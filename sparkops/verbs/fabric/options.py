"""Options of the verbs of `fabric`."""

from dataclasses import dataclass

from sparkops.core.target import Target


@dataclass(frozen=True)
class FabricOptions:
    """`deep` also measures how much each cable carries."""

    where: Target
    deep: bool = False


@dataclass(frozen=True)
class SetupOptions:
    """`undo` removes what an earlier run set. `pool` is where new subnets come from; None leaves it to the inventory.

    `check` only shows, `yes` does not ask.
    """

    where: Target
    undo: bool = False
    pool: str | None = None
    check: bool = False
    yes: bool = False
