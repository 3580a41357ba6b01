"""`version`: which sparkops this is."""

from sparkops import __version__
from sparkops.core.target import NameOptions
from sparkops.files.package import commit
from sparkops.report.answer import Answer
from sparkops.report.ending import Ending


def version(options: NameOptions, report: Ending) -> Answer:
    return Answer({"version": __version__, "commit": commit()})
