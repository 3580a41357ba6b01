"""What a person asked for, one frozen value a verb, and the answer that a workflow gives back.

Values only: the command line builds an `…Options`, a workflow of the same verb takes it with a `Report` and
returns an `Answer`. Secrets are left out of every `repr`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from sparkops.answer import Answer
from sparkops.asks.access import Access

__all__ = [
    "Answer",
    "EndpointOptions",
    "FactsOptions",
    "InitOptions",
    "KeyOptions",
    "LogsOptions",
    "PlanOptions",
    "RollbackOptions",
    "StatusOptions",
    "StopOptions",
    "TrustOptions",
    "Where",
]

COPY_STALL = 120.0
"""Seconds without progress that end a copy of an image or a model, unless `--stall` says otherwise."""


@dataclass(frozen=True)
class Where:
    """Which nodes, and how to become root on them. `inventory` None means the usual places (`load_inventory`)."""

    inventory: str | None = None
    limit: str | None = None
    become_password: str | None = field(default=None, repr=False)


@dataclass(frozen=True)
class PlanOptions:
    """For `plan` and `deploy` alike: `deploy` does exactly what `plan` prints.

    `sets` are `args.x=v` and `env.X=v` as typed, `extra` the words behind `--`, `allow` the rules switched off.
    `expect` is a plan id. `stall` and `deadline` (seconds) bound the wait for a loading engine.
    `keep` are hashes of stopped revisions that are not to be removed.
    `bench` is the suite to run when it serves, "" for none, None for what the recipe says.
    `setup` gets missing images and models first; `access` is how the model hub is asked for them.
    """

    where: Where
    topology: str
    recipe: str | None = None
    name: str | None = None
    executor: Literal["ray", "mp"] | None = None
    sets: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()
    allow: frozenset[str] = frozenset()
    expect: str | None = None
    alongside: bool = False
    refresh: bool = False
    setup: bool = False
    keep: frozenset[str] = frozenset()
    proxy: Literal["first", "all"] = "first"
    stall: float = 600.0
    deadline: float = 2700.0
    api_key: str | None = field(default=None, repr=False)
    access: Access = Access()
    bench: str | None = None


@dataclass(frozen=True)
class StatusOptions:
    where: Where
    deployment: str | None = None


@dataclass(frozen=True)
class StopOptions:
    """`but` are hashes of revisions that serve on."""

    where: Where
    deployment: str | None = None
    but: frozenset[str] = frozenset()


@dataclass(frozen=True)
class RollbackOptions:
    """`to` are hashes of revisions that are to serve, no others; without them it is what the last deploy replaced."""

    where: Where
    deployment: str | None = None
    stall: float = 600.0
    deadline: float = 2700.0
    to: frozenset[str] = frozenset()


@dataclass(frozen=True)
class LogsOptions:
    """`previous`: the log of the revision before the one that runs, or of what was removed last."""

    where: Where
    deployment: str | None = None
    previous: bool = False
    tail: int = 200
    follow: bool = False


@dataclass(frozen=True)
class KeyOptions:
    """`rotate` makes a new key (or takes `api_key`) and puts it in force."""

    where: Where
    deployment: str | None = None
    rotate: bool = False
    api_key: str | None = field(default=None, repr=False)


@dataclass(frozen=True)
class EndpointOptions:
    where: Where
    client: Literal["openai", "claude-code"]
    deployment: str | None = None


@dataclass(frozen=True)
class TrustOptions:
    """`yes` pins without asking; without it the person is asked, and without a terminal nothing is pinned."""

    where: Where
    yes: bool = False


@dataclass(frozen=True)
class InitOptions:
    """`output` None means the user's own inventory. `resolve` takes names, and looks each up once.

    `password` logs in once to install the public key of `key_file`.
    """

    addresses: tuple[str, ...]
    output: str | None = None
    user: str | None = None
    port: int = 22
    key_file: str | None = None
    yes: bool = False
    force: bool = False
    resolve: bool = False
    password: str | None = field(default=None, repr=False)


@dataclass(frozen=True)
class FactsOptions:
    """`raw` answers with the capture itself, for one node: a fixture file as it stands."""

    where: Where
    node: str | None = None
    raw: bool = False
