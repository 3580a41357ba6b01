"""`help` and `version`."""

from sparkops import __version__
from sparkops.core.target import NameOptions
from sparkops.files.package import commit
from sparkops.report.answer import Answer
from sparkops.report.ending import Ending
from sparkops.verbs.about.options import HelpOptions


def show_help(options: HelpOptions, report: Ending) -> Answer:
    return Answer({"text": options.text})


def version(options: NameOptions, report: Ending) -> Answer:
    """Say which sparkops this is."""
    return Answer({"version": __version__, "commit": commit()})
