"""Recipes of others, read into our own value: "1" (spark-vllm-docker), "2" (sparkrun), "nvidia", recipes.vllm.ai."""

from sparkops.core import schema
from sparkops.core.flags import FlagTable
from sparkops.core.formats import nvidia, parts, spark_vllm_docker, sparkrun, vllm_recipes
from sparkops.core.formats.template import literal
from sparkops.core.recipe import Recipe
from sparkops.core.recipe_file import has_variants
from sparkops.core.schema import Located

READERS = {
    "1": spark_vllm_docker.read,
    "2": sparkrun.read,
    nvidia.SCHEMA: nvidia.read,
    vllm_recipes.SCHEMA: vllm_recipes.read,
}


def read(name: str, document: Located, flags: FlagTable) -> Recipe:
    """A recipe of another launcher; raises UsageError with file and line if it cannot be read."""
    return READERS[version(document)](name, document, flags)


def version(document: Located) -> str:
    """The schema by which a file is read: "1" only if the file says so and spark-vllm-docker would take it.

    sparkrun reads files of every version by its own schema, but none of NVIDIA's. Only model files of recipes.vllm.ai
    have variants.
    """
    entries = parts.mapping(document)
    if has_variants(document):
        return vllm_recipes.SCHEMA
    if nvidia.KEY in entries:
        return nvidia.SCHEMA
    return "2" if sparkrun.said_version(entries) != "1" or _for_sparkrun(entries) else "1"


def _for_sparkrun(entries: parts.Entries) -> bool:
    """Whether a file of version "1" was written for sparkrun: spark-vllm-docker knows no runtime and needs a name."""
    command = entries.get("command")
    braces = command is not None and command.value is not None and literal(schema.text(command, "command"))
    served = parts.text(entries, "runtime") is not None or parts.text(entries, "name") is None
    return served or (braces and parts.text(entries, "model") is not None)
