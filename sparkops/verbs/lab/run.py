"""`lab` and `-i lab`: call the lab, and turn its errors into usage errors."""

from collections.abc import Iterator
from contextlib import contextmanager

from sparklab import api
from sparkops.errors import UsageError
from sparkops.report.answer import Answer
from sparkops.report.ending import Ending
from sparkops.verbs.lab.options import LabOptions


def inventory() -> str:
    """The file that `-i lab` means."""
    path = api.inventory_path()
    if not path.is_file():
        raise UsageError("no lab is running", hint="start one: `sparkops lab up --nodes 2`")
    return str(path)


def kinds() -> list[str]:
    """The names of all faults."""
    return list(api.kinds())


def hub() -> str | None:
    """The model hub of the lab that is up."""
    return api.hub_url()


def up(options: LabOptions, report: Ending) -> Answer:
    with _usage_errors():
        started = api.up(
            options.nodes, speed=options.speed, ray=options.ray, backend=options.backend, fabric=options.fabric
        )
        return Answer(started)


def down(options: LabOptions, report: Ending) -> Answer:
    with _usage_errors():
        return Answer(api.down())


def status(options: LabOptions, report: Ending) -> Answer:
    with _usage_errors():
        return Answer(api.status(options.reset))


def fault(options: LabOptions, report: Ending) -> Answer:
    with _usage_errors():
        if options.listing:
            return Answer({"kinds": api.kinds()})
        api.fault(options.node, options.kind, options.off, after=options.after)
    return Answer({"node": options.node, "kind": options.kind, "on": not options.off})


@contextmanager
def _usage_errors() -> Iterator[None]:
    """Turn an error of the lab into a usage error."""
    try:
        yield
    except api.LabError as error:
        raise UsageError(str(error), hint=getattr(error, "hint", None)) from error
