"""Options of the verbs of models."""

from dataclasses import dataclass

from sparkops.core.copying import COPY_STALL
from sparkops.core.hub_access import Access
from sparkops.core.target import Target


@dataclass(frozen=True)
class FetchOptions:
    """`node` downloads (None: one with the model, else the first); `exclude` are globs in addition to the usual ones.

    `stall` seconds without progress end a copy.
    """

    where: Target
    model: str
    node: str | None = None
    exclude: tuple[str, ...] = ()
    offline: bool = False
    access: Access = Access()
    stall: float = COPY_STALL


@dataclass(frozen=True)
class SwitchOptions:
    """`deployment` is one on demand."""

    where: Target
    deployment: str
