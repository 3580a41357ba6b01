"""Answers of `preflight`: failures first; nodes with equal findings share a line."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from sparkops.core.findings import ORDER, first_causes
from sparkops.core.topology import forms_text
from sparkops.report.text import Document, How, Ink, columns, continued, wrapped

INDENT = " " * 6
MOST_NAMES, MOST_WORDINGS = 6, 5


def preflight(document: Document, ink: Ink, how: How) -> Iterator[str]:
    if document.get("shown"):
        return
    if shown := [*problems(document, ink, how)]:
        yield from (*shown, "")
    if not document.get("mended"):
        yield from _plan(document.get("plan", ()), ink)
    yield _summary(document, _groups(document), ink, how)


def problems(document: Document, ink: Ink, how: How) -> Iterator[str]:
    """What the checks found, worst first; with -v also what passed."""
    shown = [one for one in _groups(document) if how.verbose or one.status in ("fail", "warn", "fixed")]
    for _, alike in groupby(shown, key=lambda one: (one.status, one.id)):
        yield from _alike(list(alike), ink, how.verbose)


def _alike(groups: "Sequence[FindingGroup]", ink: Ink, verbose: bool) -> Iterator[str]:
    """The first wordings of one check, and the names of the other nodes."""
    whole = groups if verbose or len(groups) <= MOST_WORDINGS else groups[: MOST_WORDINGS - 1]
    for one in whole:
        yield from one.lines(ink, verbose)
    rest = [name for one in groups[len(whole) :] for name in one.who or ()]
    if rest:
        yield (
            f"{groups[0].paint(ink)} {ink.bold(groups[0].id)}: also on {_some(rest)}, with other details; -v shows them"
        )


class FindingGroup:
    """Nodes with equal verdicts of one check; `who` is None for a check of the cluster."""

    def __init__(self, check: Document, who: list[str] | None, all_nodes: int) -> None:
        self.id, self.status, self.message = str(check["id"]), str(check["status"]), str(check["message"])
        self.hint, self.who, self.all_nodes = str(check.get("hint") or ""), who, all_nodes
        self.follows = str(check.get("follows") or "")
        self.evidence: dict[str, str] = {}

    def lines(self, ink: Ink, verbose: bool) -> Iterator[str]:
        where = f"{self._where()}: " if self.who is not None else ""
        yield f"{self.paint(ink)} {ink.bold(self.id)}: {where}{self.message or 'ok'}"
        yield from (ink.dim(line) for line in wrapped(self.hint, INDENT))
        if verbose:
            yield from (ink.dim(line) for line in self._evidence())

    def paint(self, ink: Ink) -> str:
        colours = {"fail": ink.bad, "warn": ink.warn, "fixed": ink.good, "pass": ink.good}
        return colours.get(self.status, ink.dim)(f"{self.status:<5}")

    def _where(self) -> str:
        names = self.who or []
        return f"{len(names)} nodes" if len(names) > 1 and len(names) == self.all_nodes else _some(names)

    def _evidence(self) -> Iterator[str]:
        texts = dict.fromkeys(self.evidence.values())
        for text in texts:
            names = [name for name, evidence in self.evidence.items() if evidence == text and name]
            same = len(texts) == 1 or not names
            yield from wrapped(text if same else f"{', '.join(names[:MOST_NAMES])}: {text}", INDENT + "| ")


def _some(names: Sequence[str]) -> str:
    more = len(names) - MOST_NAMES
    return ", ".join(names) if more <= 1 else f"{', '.join(names[:MOST_NAMES])} and {more} more"


def _groups(document: Document) -> list[FindingGroup]:
    """Return the groups, worst first, then in the order of the checks; each cause before what follows from it."""
    nodes = document.get("nodes", ())
    found: dict[tuple[str, str, str], FindingGroup] = {}
    for check in document.get("cluster", ()):
        group = found.setdefault((check["id"], check["status"], ""), FindingGroup(check, None, len(nodes)))
        group.evidence |= {"": check["evidence"]} if check.get("evidence") else {}
    for node in nodes:
        for check in node.get("checks", ()):
            key = (check["id"], check["status"], f"{check['message']}\n{check.get('hint')}")
            group = found.setdefault(key, FindingGroup(check, [], len(nodes)))
            group.who = [*(group.who or []), str(node["name"])]
            group.evidence |= {str(node["name"]): check["evidence"]} if check.get("evidence") else {}
    places = {name: place for place, name in enumerate(document.get("order", ()))}
    return first_causes(sorted(found.values(), key=lambda one: places.get(one.id, len(places))))


def _plan(steps: Sequence[Document], ink: Ink) -> Iterator[str]:
    if steps:
        yield ink.bold("--fix runs")
    for step in steps:
        yield f"  {step['node']}: {step['title']}"
        for command in str(step.get("command") or "").splitlines():
            yield from (ink.dim(line) for line in continued(command, "    "))


def _summary(document: Document, groups: Sequence[FindingGroup], ink: Ink, how: How) -> str:
    """The verdict, the recipe and topology, the number of checks with each status, and nodes that did not answer."""
    verdict = str(document.get("verdict"))
    paint = {"fail": ink.bad, "warn": ink.warn}.get(verdict, ink.good)
    nodes = document.get("nodes", ())
    what = (
        f"{document.get('recipe')} as {document.get('topology')} on {len(nodes)} node{'s' if len(nodes) != 1 else ''}"
    )
    ids = {status: {one.follows or one.id for one in groups if one.status == status} for status in ORDER}
    worse: set[str] = set()
    counts = []
    for status in ORDER:
        own = ids[status] - worse
        worse |= own
        counts += [f"{len(own)} {status}"] if own else []
    if away := [str(node["name"]) for node in nodes if not node.get("reachable", True)]:
        counts.append(f"{_some(away)} not checked")
    more = "" if how.verbose or verdict == "fail" else "; -v shows the evidence"
    return f"{paint(verdict)}  {what}: {', '.join(counts) or 'no check ran'}{more}"


def listed(document: Document, ink: Ink, how: How) -> Iterator[str]:
    rows = [[ink.bold(str(one["id"])), one["severity"], one["title"]] for one in document.get("checks", ())]
    yield from columns(rows)
    yield ink.dim("`sparkops preflight --explain ID` explains a check; `--only ID` and `--skip ID` choose checks.")


def explained(document: Document, ink: Ink, how: How) -> Iterator[str]:
    for one in document.get("checks", ()):
        yield f"{ink.bold(str(one['id']))}: {one['title']}"
        judged = f"{one['compares']}, topology {forms_text(one['topologies'])}"
        asked = "preflight and deploy (`deploy --allow ID` switches it off)" if one["deploy"] else "preflight"
        fixed_by = "preflight --fix" if one["fix"] else "you"
        rows = {"why": one["why"], "source": one["source"], "applies to": judged, "worst result": one["severity"]}
        rows |= {"run by": asked, "what to do": one["hint"], "fixed by": fixed_by, "reads": ", ".join(one["reads"])}
        for name, text in rows.items():
            yield from ("", ink.dim(name), *wrapped(text, "  ", 100))
