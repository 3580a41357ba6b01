"""A page for people as text."""

from collections.abc import Iterator

from sparkops.report.text import Document, Ink, columns


def page(document: Document, ink: Ink) -> Iterator[str]:
    """What it is, its variables, and how to have it."""
    yield f"{ink.bold(str(document['name']))}  a page for people, without a model"
    about = ("description", "source", "container", "port", "command", "data", "user")
    yield from columns([[name, document[name]] for name in about if document.get(name)], "  ")
    yield ink.bold("environment")
    told = document["variables"]
    rows = [
        [told["port"], "the port", "set by sparkops"],
        [told["endpoint"], "the URL of the fleet's endpoint", "set by sparkops"],
        *([name, "the page's own API key", "set by sparkops"] for name in told["key"]),
        *([[told["user"], document["user"], "set by sparkops"]] if told["user"] else []),
        *([name, value, document["source"]] for name, value in document["env"].items()),
    ]
    yield from columns([[name, value, ink.dim(origin)] for name, value, origin in rows], "  ")
    for name, title in (("when", "use it for"), ("when_not", "not for"), ("trade_offs", "trade-offs")):
        yield from (f"{ink.bold(title)}: {line}" for line in document["metadata"].get(name, ()))
    yield ink.dim("Write it below `deployments` of a fleet that has an `endpoint`, then `sparkops apply --setup`:")
    yield f"  chat: {{recipe: {document['recipe']}}}"
