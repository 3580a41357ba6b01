"""`recipe show` of a page for people, and the pages in `recipe list`."""

from dataclasses import asdict
from typing import Any

from sparkops.core.page import PageRecipe
from sparkops.errors import UsageError
from sparkops.files import pages


def page_document(page: PageRecipe, named: str) -> dict[str, Any]:
    """A page with its settings; `variables` are what sparkops tells it, `recipe` how a fleet's file names it."""
    about = {name: value for name, value in asdict(page.metadata).items() if value}
    return {
        "name": page.name,
        "recipe": named,
        "source": page.source,
        "container": page.container,
        "description": page.metadata.description,
        "port": page.port,
        "command": page.program.command,
        "data": page.program.data,
        "user": page.program.user,
        "variables": asdict(page.program.variables),
        "env": dict(page.env),
        "metadata": about,
    }


def page_rows() -> tuple[list[dict[str, str]], list[str]]:
    """Every page that can be named, and a warning for each that cannot be read."""
    found, warnings = [], []
    for name in pages.page_names():
        try:
            if one := pages.page(name):
                found.append({"name": name, "description": one.metadata.description})
        except UsageError as error:
            warnings.append(error.message)
    return found, warnings
