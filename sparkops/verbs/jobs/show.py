"""Answers of the verbs of background jobs."""

from collections.abc import Iterator

from sparkops.report.text import Document, How, Ink, clip, columns
from sparkops.verbs.status import show as status

logs = status.logs


def jobs(document: Document, ink: Ink, how: How) -> Iterator[str]:
    rows = document.get("jobs", ())
    if not rows:
        yield "There are no jobs."
        return
    table = [[job["node"], job["id"], _state(job, ink), job["started"], clip(job["command"], 60)] for job in rows]
    yield from columns([["node", "job", "state", "started", "command"], *table])


def cancelled(document: Document, ink: Ink, how: How) -> Iterator[str]:
    nodes = document.get("cancelled", ())
    yield f"The job was ended on {', '.join(nodes)}." if nodes else "The job had already ended."


def _state(job: Document, ink: Ink) -> str:
    state = str(job["state"])
    if state == "failed":
        return ink.bad(f"failed ({job['exit']})")
    return {"running": ink.good, "lost": ink.bad}.get(state, str)(state)
