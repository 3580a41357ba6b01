"""Options of `status`, `logs`, `key`, `endpoint` and `facts`."""

from dataclasses import dataclass, field
from typing import Literal

from sparkops.core.target import Target


@dataclass(frozen=True)
class StatusOptions:
    """`strict`: warnings and silent management addresses count too. `quiet`: only the exit code answers."""

    where: Target
    deployment: str | None = None
    strict: bool = False
    short: bool = False
    quiet: bool = False


@dataclass(frozen=True)
class LogsOptions:
    """`previous`: the log of the revision before the running one, or of the one removed last."""

    where: Target
    deployment: str | None = None
    previous: bool = False
    tail: int = 200
    follow: bool = False


@dataclass(frozen=True)
class KeyOptions:
    """`rotate` replaces the key by `api_key`, or by a new one; `check` only shows that."""

    where: Target
    deployment: str | None = None
    rotate: bool = False
    check: bool = False
    api_key: str | None = field(default=None, repr=False)


Client = Literal["openai", "claude-code", "open-webui", "continue", "litellm", "langchain", "curl"]


@dataclass(frozen=True)
class EndpointOptions:
    where: Target
    client: Client
    deployment: str | None = None


@dataclass(frozen=True)
class FactsOptions:
    """`raw` prints the unparsed capture of one node, which can be stored as a test fixture."""

    where: Target
    node: str | None = None
    raw: bool = False
