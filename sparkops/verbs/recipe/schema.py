"""`schema`: show the JSON Schema of a kind of file; no node."""

from sparkops.core.target import NameOptions
from sparkops.files import recipes
from sparkops.report.answer import Answer
from sparkops.report.ending import Ending


def schema(options: NameOptions, report: Ending) -> Answer:
    return Answer({"kind": options.name, "json_schema": recipes.file_schema(options.name)})
