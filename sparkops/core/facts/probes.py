"""From a capture to `Facts`: what each probe prints becomes the field of the same name."""

from collections.abc import Mapping
from typing import Annotated, Any, get_origin, get_type_hints

from sparkops.core.facts.node import Facts
from sparkops.core.facts.raw import END, Probe, Unread, read
from sparkops.core.facts.reading import Parser


def parsers(fields: type) -> Mapping[str, Parser]:
    """The parser of each probe that has a field of its name in this class."""
    return {
        name.replace("_", "-"): hint.__metadata__[0]
        for name, hint in get_type_hints(fields, include_extras=True).items()
        if get_origin(hint) is Annotated
    }


PROBES = parsers(Facts)

WHAT_RUNS = ("id", "lock", "state", "docker-version", "docker-ps", "docker-ours", "docker-logs", "ip-addr")
"""Probes for the containers: whose they are, how they ended, which key they read, and which run began them.

The addresses tell which node of this inventory a label means; another inventory may use other names.
"""

HOW_IT_RUNS = ("clock", "boot", "meminfo", "thermal", "net", "schedule", "disk")
"""Probes for the state of a node with a deployment that read files or ask the kernel, so a sick driver delays none."""

CONFUSED = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError, StopIteration)
"""What a parser may raise over output that it does not understand."""

NOT_ASKED = Unread("this command does not read this value")
CUT_OFF = Unread("the node's output was cut off before this value")


def parse(raw: str) -> Facts:
    """The facts of a capture. Output that cannot be parsed is `Unread`; only a wrong first line raises `Unreadable`."""
    found = read(raw)
    return Facts(**values(PROBES, found), took_seconds=found[END].ms / 1000 if END in found else None)


def values(parsers: Mapping[str, Parser], found: Mapping[str, Probe]) -> dict[str, Any]:
    """What these probes printed, by the names of the fields."""
    absent = NOT_ASKED if END in found else CUT_OFF
    return {
        name.replace("-", "_"): _value(parser, found[name]) if name in found else absent
        for name, parser in parsers.items()
    }


def absent(reason: str) -> Facts:
    """The facts of a node that could not be reached."""
    return Facts(**{name.replace("-", "_"): Unread(reason) for name in PROBES})  # type: ignore[arg-type]


def _value(parser: Parser, probe: Probe) -> object:
    try:
        return parser(probe)
    except CONFUSED as error:
        return Unread(f"unexpected output: {error}" if str(error) else "unexpected output")
