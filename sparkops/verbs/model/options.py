"""Asks of `model`: weights, fetched once and the same everywhere."""

from dataclasses import dataclass

from sparkops.core.copying import COPY_STALL
from sparkops.core.hub_access import Access
from sparkops.core.target import Target


@dataclass(frozen=True)
class FetchOptions:
    """`node` downloads (None: whoever has most of it); `exclude` are globs beside those that nobody needs.

    `stall` seconds without progress end a copy.
    """

    where: Target
    model: str
    node: str | None = None
    exclude: tuple[str, ...] = ()
    offline: bool = False
    access: Access = Access()
    stall: float = COPY_STALL
