"""Recipes of other launchers, read into our own value: schema "1" (spark-vllm-docker) and "2" (sparkrun)."""

from sparkops.core import schema
from sparkops.core.flags import FlagTable
from sparkops.core.formats import spark_vllm_docker, sparkrun
from sparkops.core.recipe import Recipe
from sparkops.core.schema import Located

READERS = {"1": spark_vllm_docker.read, "2": sparkrun.read}
VERSIONS = ("recipe_version", "sparkrun_version")


def read(name: str, document: Located, flags: FlagTable) -> Recipe:
    """A recipe of another launcher; raises UsageError with file and line if it cannot be read."""
    return READERS[version(document)](name, document, flags)


def version(document: Located) -> str:
    """The file's schema; without a version it is sparkrun's."""
    entries = schema.mapping(document)
    said = next((entries[key] for key in VERSIONS if key in entries and entries[key].value is not None), None)
    if said is None:
        return "2"
    number = schema.text(said, "recipe_version").strip().removesuffix(".0")
    if number not in READERS:
        schema.fail(
            said, "recipe_version", f"unknown schema {number!r}; sparkops reads 1 (spark-vllm-docker) and 2 (sparkrun)"
        )
    return number
