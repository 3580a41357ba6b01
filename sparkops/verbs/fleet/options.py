"""Options of the verbs that read `fleet.yml`."""

from dataclasses import dataclass

from sparkops.core.target import Target


@dataclass(frozen=True)
class FleetOptions:
    """`file` None means `fleet.yml` in the current directory."""

    where: Target
    file: str | None = None
