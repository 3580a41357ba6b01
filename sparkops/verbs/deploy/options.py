"""Options of `plan`, `deploy`, `stop`, `start`, `restart` and `rollback`."""

from dataclasses import dataclass, field
from typing import Literal

from sparkops.core.hub_access import Access
from sparkops.core.plan import USUAL, WaitLimits
from sparkops.core.target import Target


@dataclass(frozen=True)
class PlanOptions:
    """Options of `plan` and `deploy`, so that `deploy` does exactly what `plan` prints.

    `sets` are `args.x=v` and `env.X=v` as typed, `extra` the words after `--`, `allow` the rules and checks to skip.
    `expect` is a plan id.
    `keep` are hashes of stopped revisions that must not be removed; `only` are the running ones that it may replace,
    None: any.
    `at_once` replaces copies behind a proxy all at once.
    `api_key` is the key to use, None the one that the nodes have; with `open_access` clients need none.
    `bench` is the suite to run after the deploy; "" runs none, None runs that of the recipe.
    `short` leaves the settings and the steps out of the plan that is shown.
    `setup` gets missing images and models first; `access` is the access to the model hub.
    """

    where: Target
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
    at_once: bool = False
    setup: bool = False
    keep: frozenset[str] = frozenset()
    only: frozenset[str] | None = None
    proxy: Literal["first", "all"] = "first"
    limits: WaitLimits = USUAL
    api_key: str | None = field(default=None, repr=False)
    open_access: bool = False
    access: Access = Access()
    bench: str | None = None
    short: bool = False


@dataclass(frozen=True)
class StopOptions:
    """`remove` keeps nothing for `start`. `only` are hashes of what is stopped, None: all.

    `check` changes nothing.
    """

    where: Target
    deployment: str | None = None
    remove: bool = False
    check: bool = False
    only: frozenset[str] | None = None


@dataclass(frozen=True)
class StartOptions:
    """Options of `start` and `restart`; `check` changes nothing."""

    where: Target
    deployment: str | None = None
    check: bool = False
    limits: WaitLimits = USUAL


@dataclass(frozen=True)
class RollbackOptions:
    """`to` begins the hashes of the revisions that must serve; empty means what the last deploy replaced.

    `only` are the hashes of what it may stop for that, None: any.

    `check` changes nothing.
    """

    where: Target
    deployment: str | None = None
    check: bool = False
    limits: WaitLimits = USUAL
    to: frozenset[str] = frozenset()
    only: frozenset[str] | None = None
