"""`schema`: what an editor needs to know of our files."""

from __future__ import annotations

from sparkops import load
from sparkops.answer import Answer
from sparkops.cli.options import Known
from sparkops.report.ending import Ending


def schema(options: Known, report: Ending) -> Answer:
    return Answer({"kind": options.name, "json_schema": load.file_schema(options.name)})
