"""Options of `gateway`."""

from dataclasses import dataclass

from sparkops.core.target import Target


@dataclass(frozen=True)
class PersonOptions:
    """`person` has the key; `gateway` is the endpoint, needed if there are several."""

    where: Target
    person: str
    gateway: str | None = None


@dataclass(frozen=True)
class NewKeyOptions(PersonOptions):
    """Limits of a new key; None: no limit. `models` are names at the endpoint, `expires` the last day as YYYY-MM-DD."""

    models: tuple[str, ...] | None = None
    rpm: int | None = None
    parallel: int | None = None
    tokens_per_day: int | None = None
    expires: str | None = None


@dataclass(frozen=True)
class UsageOptions:
    """`days`: how many of the last days are summed up, today included."""

    where: Target
    gateway: str | None = None
    days: int = 1


@dataclass(frozen=True)
class GatewayLogsOptions:
    """`tail`: how many of the last lines; `follow` prints new ones as they come."""

    where: Target
    gateway: str | None = None
    tail: int = 200
    follow: bool = False
