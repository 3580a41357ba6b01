"""Which nodes a command line means."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Target:
    """Which nodes, and how to become root on them. `inventory` None means the usual places (`files/inventory.py`)."""

    inventory: str | None = None
    limit: str | None = None
    become_password: str | None = field(default=None, repr=False)
