"""Answers of `gateway` as text."""

from collections.abc import Iterator

from sparkops.report.text import Document, How, Ink, columns

LIMITS = {"rpm": "a minute", "parallel": "at a time", "tokens_per_day": "tokens a day"}


def added(document: Document, ink: Ink, how: How) -> Iterator[str]:
    """The key alone on its line, so that it can be copied."""
    may = f"{document['name']} may ask {document['url']} for {_models(document)}"
    yield f"{may} with this key, which is shown only now:"
    yield ink.bold(document["key"])
    until = f"good until {document['expires']}" if document["expires"] else ""
    if limits := ", ".join(filter(None, (_limits(document), until))):
        yield ink.dim(f"limits: {limits}")
    yield ink.dim(f"what a client needs, but with this key: `{how.command} endpoint DEPLOYMENT --for CLIENT`")


def rotated(document: Document, ink: Ink, how: How) -> Iterator[str]:
    yield f"the new key of {document['name']}, which is shown only now; the old one ends within 2 s:"
    yield ink.bold(document["key"])


def revoked(document: Document, ink: Ink, how: How) -> Iterator[str]:
    left = document["left"]
    others = {0: "nobody else has one", 1: "one other key stays"}.get(left, f"{left} other keys stay")
    yield f"{ink.good('revoked')} the key of {document['name']}; {others}"


def listed(document: Document, ink: Ink, how: How) -> Iterator[str]:
    """One line for each person."""
    rows = document.get("keys", ())
    if not rows:
        yield f"nobody has a key for {document['gateway']} yet: `{how.command} gateway key add NAME`"
        return
    heads = ["name", "models", "limits", "tokens today", "added", "expires"]
    yield from columns([heads, *(_row(one, ink) for one in rows)])


def _row(one: Document, ink: Ink) -> list[object]:
    expires = one["expires"] and (ink.bad(f"{one['expires']}, over") if one["expired"] else one["expires"])
    return [one["name"], _models(one), _limits(one), f"{one['tokens_today']:,}", one["added"], expires]


def _models(one: Document) -> str:
    return ", ".join(one["models"]) if one["models"] is not None else "all models"


def _limits(one: Document) -> str:
    return ", ".join(f"{one[name]:,} {text}" for name, text in LIMITS.items() if one[name])


def used(document: Document, ink: Ink, how: How) -> Iterator[str]:
    rows = document["usage"]
    period = "today" if document["days"] == 1 else f"in the last {document['days']} days"
    if not rows:
        yield f"nobody used {document['gateway']} {period}"
        return
    heads = ["name", "model", "requests", "refused", "tokens in", "tokens out", "seconds"]
    sums = ("requests", "refused", "tokens_in", "tokens_out", "seconds")
    yield from columns([heads, *([one["name"], one["model"], *(f"{one[key]:,.0f}" for key in sums)] for one in rows)])


def logged(document: Document, ink: Ink, how: How) -> Iterator[str]:
    for part in document.get("logs", ()):
        yield from str(part.get("text", "")).splitlines()
