"""`completion`: the script that a shell sources."""

import click
from click.shell_completion import get_completion_class

from sparkops.cli.completion import VARIABLE
from sparkops.report.answer import Answer
from sparkops.report.ending import Ending
from sparkops.verbs.completion.options import CompletionOptions


def script(options: CompletionOptions, report: Ending) -> Answer:
    made = get_completion_class(options.shell)
    assert made is not None, "the command line takes these shells only"
    source = made(click.Command("sparkops"), {}, "sparkops", VARIABLE).source()
    return Answer({"shell": options.shell, "script": source})
