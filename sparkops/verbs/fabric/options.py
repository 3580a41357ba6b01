"""Options of the verbs of `fabric`."""

from dataclasses import dataclass
from ipaddress import IPv4Network

from sparkops.core.fabric.address_pool import POOL
from sparkops.core.target import Target


@dataclass(frozen=True)
class SetupOptions:
    """`undo` removes what an earlier run set. `pool` is where new subnets come from.

    `check` only shows, `yes` does not ask.
    """

    where: Target
    undo: bool = False
    pool: tuple[IPv4Network, ...] = POOL
    check: bool = False
    yes: bool = False
