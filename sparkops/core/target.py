"""Which nodes a command line means, and the options of verbs that take little else."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Target:
    """Which nodes, and how to become root on them. `inventory` None means the usual places (`files/inventory.py`).

    `wait`: seconds to wait for a lock that another run holds.
    """

    inventory: str | None = None
    limit: str | None = None
    become_password: str | None = field(default=None, repr=False)
    wait: float = 0.0


@dataclass(frozen=True)
class NameOptions:
    """A verb that needs no node and takes one name; empty means all."""

    name: str = ""


@dataclass(frozen=True)
class NodesOptions:
    """A verb that takes nodes, and perhaps the name of one thing on them; None means all."""

    where: Target
    name: str | None = None


@dataclass(frozen=True)
class ConfirmOptions:
    """A verb that shows what it would change, and asks; `yes` changes it without asking.

    Without `yes` and without a terminal nothing is changed.
    """

    where: Target
    yes: bool = False


@dataclass(frozen=True)
class PruneOptions:
    """A verb that removes what is named, or for no `names` what nothing needs; `yes` does not ask."""

    where: Target
    names: tuple[str, ...] = ()
    yes: bool = False
