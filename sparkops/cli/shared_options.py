"""Options that several verbs share."""

import re
from collections.abc import Callable
from functools import reduce
from typing import Any

import click

from sparkops.cli.shape import duration
from sparkops.core import copying

Decorator = Callable[[Any], Any]


def seconds(name: str, default: str, text: str) -> Decorator:
    """Return an option that takes a duration such as 90s or 10m."""
    return click.option(name, callback=duration, metavar="TIME", default=default, help=text)


def together(*decorators: Decorator) -> Decorator:
    """Return one decorator that applies all of these; `--help` lists their options in this order."""
    return lambda function: reduce(lambda made, decorator: decorator(made), reversed(decorators), function)


STALL = seconds("--stall", "10m", "Give up if the engine logs no new line and compiles nothing for this long.")
DEADLINE = seconds("--deadline", "45m", "Give up if the model does not serve after this long.")
COPY_STALL = seconds("--stall", f"{copying.COPY_STALL:.0f}s", "End a copy that makes no progress for this long.")


class ListenAddress(click.ParamType[tuple[str, int]]):
    """`PORT` or `HOST:PORT`; an IPv6 address stands in brackets."""

    name = "address"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        found = re.fullmatch(r"(?:(?:\[([0-9a-fA-F:.]+)\]|([\w.-]+)):)?(\d{1,5})", str(value))
        if found is None or not 0 < int(found[3]) < 65536:
            self.fail(f"{value!r} is not PORT or HOST:PORT, such as 9466 or 10.0.0.5:9466", param, ctx)
        return found[1] or found[2] or "127.0.0.1", int(found[3])
