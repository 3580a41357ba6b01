"""Answers of the verbs that change nodes, and of the plan that shows it first."""

import re
import shlex
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from sparkops.core.endpoints import WITHOUT_KEY
from sparkops.core.impact import told
from sparkops.files.package import node_script
from sparkops.report.text import Document, How, Ink, columns, continued, indented, words, wrapped
from sparkops.verbs.bench import show

_REVISION = re.compile(r"('sparkops\.revision=)[^']*'")
"""The label with the whole revision, a page of JSON; shown only with `-v`."""

NOTHING = "Nothing to change: the nodes already run this."

_CARRIED = re.compile(r"^\. \./(\w+)\.sh$", re.MULTILINE)


def plan(document: Document, ink: Ink, how: How) -> Iterator[str]:
    yield ink.bold(_title(document))
    rows = ((title, how.again(text)) for title, text in told(document["impact"])) if "impact" in document else ()
    yield from columns([*rows], "  ")
    yield from _without_key(document, ink)
    if _of_catalogue(document):
        yield f"  recipe {document['recipe']}, from {document['recipe_source']}"
    nodes = (document.get("placement") or {}).get("nodes", ())
    yield from columns([[node["name"], node.get("address"), node.get("role")] for node in nodes], "  ")
    if changed := document.get("changed", document.get("changes")):
        yield ink.bold("Changes")
        yield from (f"  {change}" for change in document.get("differences") or ())
    yield from _settings(document.get("settings", ()), ink)
    yield from _findings(document.get("rules", ()), ink, reasons="steps" in document)
    steps = document.get("steps", ())
    yield from _steps(steps, ink, how)
    if how.verbose:
        yield from _scripts(steps, ink)
    if not changed:
        yield ink.good(NOTHING)
    elif document.get("id"):
        if steps:
            scripts = "" if how.verbose else "; @NAME is a script of sparkops, and -v shows its text"
            yield ink.dim(f"* marks steps that change a node{scripts}.")
        yield ink.dim(_to_run(document["id"], how))


def _to_run(plan: str, how: How) -> str:
    """The command that runs this plan and no other; if a playbook made the plan, nobody typed its options."""
    if how.verb != "plan":
        return f"`deploy --expect {plan}` refuses any other plan"
    before, after = how.typed
    words = ["sparkops", *before, "deploy", "--expect", plan, *(word for word in after if word != "--short")]
    return f"To run this plan and no other: `{shlex.join(words)}`"


def deploy(document: Document, ink: Ink, how: How) -> Iterator[str]:
    """The endpoints, and a request to paste."""
    endpoints = document.get("endpoints", ())
    if not document.get("changed", True):
        yield ink.good("Already serving, nothing to do.")
    if not endpoints:
        return
    seconds = document.get("seconds")
    took = f" after {seconds:.0f} s" if isinstance(seconds, int | float) and document.get("changed") else ""
    names = list(dict.fromkeys(item["deployment"] for item in endpoints))
    several = len(names) > 1
    told = document.get("restored") or document.get("started") or names
    yield ink.good(f"{', '.join(told)} serve{took}" if several else f"{_title(document)} serves{took}")
    rows = [[item["url"], item.get("model"), item.get("node"), item["deployment"]] for item in endpoints]
    yield from columns(rows if several else [row[:3] for row in rows], "  ")
    yield from _without_key(document, ink)
    for endpoint in [one for one in endpoints if one.get("model")][:1]:  # the endpoint of a fleet has none of its own
        yield from _ask(document, endpoint, how)
    if document.get("bench"):
        yield from show.run(document["bench"], ink, how)


def _of_catalogue(document: Document) -> bool:
    """Whether the recipe is one of a catalogue; then its source names the commit."""
    source = str(document.get("recipe_source") or "")
    return source.startswith(f"{str(document.get('recipe')).partition('/')[0]}@")


def _without_key(document: Document, ink: Ink) -> Iterator[str]:
    if not document.get("api_key", True):
        yield ink.warn(f"  {WITHOUT_KEY}")


def _ask(document: Document, endpoint: Document, how: How) -> Iterator[str]:
    """A request to paste; it reads the key when it runs, so the key is never printed."""
    base = endpoint["url"].rstrip("/").removesuffix("/v1")
    body = f'{{"model": "{endpoint.get("model")}", "messages": [{{"role": "user", "content": "Hello"}}]}}'
    yield "Ask it:"
    where = how.limit or (endpoint["node"] if len(document["endpoints"]) > 1 else "")
    limit = ["--limit", where] if where else []
    key = f"{how.command} key --deployment {shlex.join([endpoint['deployment'], *limit])}"
    header = f' -H "Authorization: Bearer $({key})"' if document.get("api_key", True) else ""
    yield f"  curl {base}/v1/chat/completions{header} \\"
    yield f"    -H 'Content-Type: application/json' -d '{body}'"


def rollback(document: Document, ink: Ink, how: How) -> Iterator[str]:
    if document.get("check") and not document.get("changed"):
        yield ink.good(NOTHING)
        return
    if document.get("check"):
        yield from (f"would stop {title}" for title in document.get("replaced", ()))
        yield from (f"would start {title}" for title in document.get("restored", ()))
        yield from checked(document, ink, how)
        return
    yield from (f"stopped {title}" for title in document.get("replaced", ()))
    yield from deploy(document, ink, how)


def start(document: Document, ink: Ink, how: How) -> Iterator[str]:
    if not document.get("check"):
        yield from deploy(document, ink, how)
    elif not document.get("started"):
        yield ink.good(NOTHING)
    else:
        yield from (f"would start {title}" for title in document["started"])
        yield from checked(document, ink, how)


def restart(document: Document, ink: Ink, how: How) -> Iterator[str]:
    if not document.get("check"):
        yield from deploy(document, ink, how)
        return
    in_turns = ", its servers one after the other" if document.get("in_turns") else ""
    yield f"would restart {_title(document)}{in_turns}"
    yield from checked(document, ink, how)


def checked(document: Document, ink: Ink, how: How) -> Iterator[str]:
    """The steps that `--check` did not do."""
    yield from _steps(document.get("steps", ()), ink, how)
    yield ink.bold("check: nothing was changed")


def stop(document: Document, ink: Ink, how: How) -> Iterator[str]:
    stopped, removed = document.get("stopped", ()), document.get("removed", ())
    check = document.get("check")
    if not (stopped or removed):
        unknown = ", ".join(document.get("unreachable", ()))
        none = f"Nothing was stopped. It is unknown what runs on {unknown}."
        yield none if unknown else "No sparkops deployment was running on these nodes."
        return
    for word, rows in (("stop", stopped), ("remove", removed)):
        if rows:
            yield ink.good(f"Would {word}:" if check else {"stop": "Stopped:", "remove": "Removed:"}[word])
            yield from columns([[item["node"], item["container"]] for item in rows], "  ")
    if check:
        yield from checked(document, ink, how)
    elif document.get("next"):
        yield document["next"]


def _title(document: Document) -> str:
    words = [str(document.get("deployment", "deployment"))]
    if document.get("topology"):
        words.append(f"as {document['topology']}")
    if document.get("hash"):
        words.append(f"({str(document['hash'])[:8]})")
    return " ".join(words)


def _settings(settings: Sequence[Document], ink: Ink) -> Iterator[str]:
    """Every flag and variable of the engine, with its origin."""
    if settings:
        yield ink.bold("Settings")
    rows = [[item.get("flag") or item.get("env"), words(item["value"]), ink.dim(item["origin"])] for item in settings]
    yield from columns(rows, "  ")


def _findings(findings: Sequence[Document], ink: Ink, *, reasons: bool) -> Iterator[str]:
    """The findings of rules and checks: equal ones of several nodes together, and with `reasons` each reason once."""
    if not findings:
        return
    paint = {"refuse": ink.bad, "fail": ink.bad, "warn": ink.warn, "fix": ink.good}
    yield ink.bold("Findings")
    for found_by, same in groupby(findings, key=lambda found: found["id"]):
        why = ""
        for (action, message, hint), group in groupby(same, key=_objection):
            members = list(group)
            nodes = ", ".join(one["node"] for one in members if one.get("node"))
            mark = paint.get(action, ink.dim)(f"{action:<7}")
            yield f"  {mark} {ink.bold(found_by)}: {f'{nodes}: ' if nodes else ''}{message}"
            if reasons and members[0].get("why", "") != why:
                why = members[0].get("why", "")
                yield from (ink.dim(line) for line in wrapped(why, "          "))
            yield from wrapped(hint or "", "          ")


def _objection(found: Document) -> tuple[Any, ...]:
    return found["action"], found["message"], found.get("hint")


def _steps(steps: Sequence[Document], ink: Ink, how: How) -> Iterator[str]:
    for phase, members in groupby(steps, key=lambda step: step["phase"]):
        yield ink.bold(f"[{phase}]")
        for node, own in groupby(members, key=lambda step: step["node"]):
            yield f"  {node}"
            for step in own:
                yield f"    {'*' if step.get('changes') else '-'} {step['title']}"
                for command in (step.get("command") or "").splitlines():
                    shown = command if how.verbose else _REVISION.sub(r"\1...'", command)
                    yield from (ink.dim(line) for line in continued(shown, "        "))


def _scripts(steps: Sequence[Document], ink: Ink) -> Iterator[str]:
    """The text of each script `@name` in the commands, and of the scripts that it includes."""
    named = re.findall(r"(?:^|[\s'])@([a-z]+)", " ".join(step.get("command") or "" for step in steps))
    texts = {name: node_script(f"{name}.sh") for name in named}
    texts |= {name: node_script(f"{name}.sh") for text in list(texts.values()) for name in _CARRIED.findall(text)}
    for name, text in sorted(texts.items()):
        if text:
            yield ink.bold(f"@{name}")
            yield from (ink.dim(line) for line in indented(text, "  "))
