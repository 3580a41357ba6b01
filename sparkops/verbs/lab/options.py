"""Options of the verbs of `lab`."""

from dataclasses import dataclass


@dataclass(frozen=True)
class LabOptions:
    """Each verb uses its own fields. `speed`: how much faster than on real nodes models load; None for the default."""

    nodes: int = 2
    backend: str = "embedded"
    ray: str = "auto"
    fabric: str = "switch"
    speed: float | None = None
    reset: bool = False
    node: str = ""
    kind: str = ""
    listing: bool = False
    off: bool = False
    after: int = 0
