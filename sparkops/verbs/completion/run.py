"""`completion`: the script that a shell sources."""

from sparkops.cli.completion import source
from sparkops.report.answer import Answer
from sparkops.report.ending import Ending
from sparkops.verbs.completion.options import CompletionOptions


def script(options: CompletionOptions, report: Ending) -> Answer:
    return Answer({"shell": options.shell, "script": source(options.shell)})
