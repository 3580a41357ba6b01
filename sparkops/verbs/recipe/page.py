"""`recipe show` of a page for people, and the pages in `recipe list`."""

from dataclasses import asdict
from typing import Any

from sparkops.core.page import PageRecipe
from sparkops.files import pages


def page_document(page: PageRecipe) -> dict[str, Any]:
    """A page with its settings; `variables` are what sparkops tells it."""
    about = {name: value for name, value in asdict(page.metadata).items() if value}
    return {
        "name": page.name,
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


def page_rows() -> list[dict[str, str]]:
    """Every page that can be named."""
    known = ((name, pages.page(name)) for name in pages.page_names())
    return [{"name": name, "description": one.metadata.description} for name, one in known if one]
