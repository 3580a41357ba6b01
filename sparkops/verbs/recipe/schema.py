"""`schema`: what an editor needs to know of our files."""

from sparkops.files import recipes
from sparkops.report.answer import Answer
from sparkops.report.ending import Ending
from sparkops.verbs.recipe.options import SchemaOptions


def schema(options: SchemaOptions, report: Ending) -> Answer:
    return Answer({"kind": options.kind, "json_schema": recipes.file_schema(options.kind)})
