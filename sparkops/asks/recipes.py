"""What a person asks of recipes that run: to write down what does, and to hold it to what was written down."""

from __future__ import annotations

from dataclasses import dataclass

from sparkops.asks import Where


@dataclass(frozen=True)
class LockOptions:
    """`output` None is stdout."""

    where: Where
    deployment: str | None = None
    output: str | None = None


@dataclass(frozen=True)
class VerifyOptions:
    """`ignore` names what may differ, such as `driver` or `sparkops`."""

    where: Where
    file: str
    ignore: tuple[str, ...] = ()
