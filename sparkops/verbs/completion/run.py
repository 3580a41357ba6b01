"""`completion`: the script that a shell sources."""

import click
from click.shell_completion import get_completion_class

from sparkops.cli.completion import VARIABLE
from sparkops.core.target import NameOptions
from sparkops.report.answer import Answer
from sparkops.report.ending import Ending


def script(options: NameOptions, report: Ending) -> Answer:
    made = get_completion_class(options.name)
    assert made is not None, "the command line takes these shells only"
    source = made(click.Command("sparkops"), {}, "sparkops", VARIABLE).source()
    return Answer({"shell": options.name, "script": source})
