"""Answer of `history`."""

from collections.abc import Iterator

from sparkops.report.text import Document, How, Ink, away, clip, columns

SHORT = 8
"""Digits of a commit that are shown."""

LONGEST = 100
"""Characters of a command on the terminal without `-v`."""


def history(document: Document, ink: Ink, how: How) -> Iterator[str]:
    found = document.get("runs", ())
    rows = [
        [
            _time(run["began"]),
            run["run"],
            run["operator"],
            ",".join(run["nodes"]),
            _state(run, ink),
            *([run["command"], run["outcome"]] if how.verbose else [clip(run["command"], LONGEST)]),
        ]
        for run in found
    ]
    if rows:
        head = ["began (UTC)", "run", "by", "nodes", "result", "command"]
        yield from columns([head + ["message"] if how.verbose else head, *rows])
    elif "runs" in document and not document.get("unreachable"):
        yield "No run has locked these nodes yet."
    yield from away(document, ink)


def _time(at: str) -> str:
    return at[:19].replace("T", " ")


def _state(run: Document, ink: Ink) -> str:
    if run["state"] != "ended":
        return ink.bad("cut off") if run["state"] == "cut off" else ink.warn("running")
    code = run["exit_code"]
    of = f", commit {run['commit'][:SHORT]}" if run["commit"] else ""
    if code:
        return ink.bad(f"exit {code}") + of
    return (ink.good("changed") if run["changed"] else "nothing changed") + of
