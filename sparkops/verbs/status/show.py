"""Answers of the verbs that only read: what serves, its logs, its key, and the facts of nodes."""

import json
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from sparkops.core.endpoints import WITHOUT_KEY
from sparkops.core.facts import plain
from sparkops.core.facts.probes import NOT_ASKED
from sparkops.core.history import cut_off_text, under_way_text
from sparkops.core.revision import GATEWAY, PAGE
from sparkops.report.text import WIDTH, Document, How, Ink, away, clip, clip_line, columns, words
from sparkops.verbs.deploy.show import checked

COMPANIONS = {GATEWAY: "one address for a fleet", PAGE: "a page for people"}
"""What stands for recipe and topology of what a fleet has beside its deployments."""

LONGEST_REASON = 200
"""Characters of a log on the terminal; `--json` has all."""

NOT_READ = plain(NOT_ASKED)


def status(document: Document, ink: Ink, how: How) -> Iterator[str]:
    for run in document.get("under_way", ()):
        yield ink.dim(under_way_text(run))
    for run in document.get("cut_off", ()):
        yield ink.warn(how.again(cut_off_text(run)))
    deployments, found = document.get("deployments", ()), document.get("warnings", ())
    if not deployments and not document.get("unreachable"):
        yield "These nodes have no sparkops deployment."
    if document.get("short"):
        yield from columns([_line(item, found, ink) for item in deployments])
        return
    unknown = document.get("unknown", ())  # the error, below the answer, says why
    for item in deployments:
        yield from _deployment(item, ink, unknown)
    for one in found:
        where = f"{one['node']}: " if one["node"] else ""
        yield f"{ink.warn('warning:')} {where}{one['text']} [{one['id']}]"
        yield f"  {ink.bold('next:')} {one['next']}"
    told = {*unknown, *(one["node"] for one in found if one["id"] == "management")}
    rest = {node: reason for node, reason in (document.get("unreachable") or {}).items() if node not in told}
    yield from away({"unreachable": rest}, ink)


def _word(item: Document) -> str:
    """Its state in a word: one on demand that is stopped waits for a request."""
    state = str(item.get("state"))
    return "asleep" if state == "stopped" and item.get("on_demand") else state


def _line(item: Document, found: Sequence[Document], ink: Ink) -> list[str]:
    """Name, state with the number of warnings, topology with hash, model and endpoint."""
    here = {node["name"] for node in item.get("nodes", ())}
    many = sum(one["node"] in here for one in found)
    state = _state(_word(item), ink)
    told = f"{state} ({many} warning{'s' if many > 1 else ''})" if many else state
    shape = f"{item.get('topology')} {str(item.get('hash') or '')[:8]}"
    url = next((one["url"] for one in item.get("endpoints", ())), "")
    return [str(item["name"]), told, ink.dim(shape), str(item.get("model")), url]


def _deployment(item: Document, ink: Ink, unknown: Collection[str]) -> Iterator[str]:
    state = _state(_word(item), ink)
    shape = f"{item.get('recipe')} as {item.get('topology')}, {str(item.get('hash') or '')[:8]}"
    if what := COMPANIONS.get(str(item.get("topology"))):
        shape = f"{what}, {str(item.get('hash') or '')[:8]}"
    yield f"{ink.bold(str(item['name']))}  {state}  {ink.dim(shape)}"
    yield from _why(item, ink, told=any(node["name"] in unknown for node in item.get("nodes", ())))
    if not item.get("api_key", True):
        yield ink.warn(f"  {WITHOUT_KEY}")
    if item.get("newer"):
        yield ink.warn("  a newer version of sparkops started it: this version can show it, but not change it")
    rows = []
    for node in item.get("nodes", ()):
        state = node.get("state") if node.get("reachable", True) else ink.bad("unreachable")
        restarts = node.get("restarts") if node.get("reachable", True) else None
        rows.append([node["name"], node.get("address"), node.get("role"), state, restarts])
    if rows:
        yield from columns([["node", "address", "role", "state", "restarts"], *rows], "  ")
    if item.get("state") != "stopped":
        yield from _running(item, ink)


def _why(item: Document, ink: Ink, told: bool) -> Iterator[str]:
    """Why it does not serve, and what to do; with `told`, the error of the run says so."""
    if item.get("state") == "serving":
        return
    if _word(item) == "asleep":
        yield "  the next request for it at the fleet's endpoint starts it"
    if (known := item.get("cause")) and not told:
        yield f"  {ink.bold('cause:')} {clip(known, LONGEST_REASON)}"
    elif item.get("reason"):
        yield f"  {item['reason']}"
    if item.get("next") and not told:
        yield f"  {ink.bold('next:')} {item['next']}"


def _running(item: Document, ink: Ink) -> Iterator[str]:
    """What only a deployment that runs has: ranks, CUDA graphs, endpoints."""
    silent = {node["name"] for node in item.get("nodes", ()) if not node.get("reachable", True)}
    ray = item.get("ray") or {}
    if ray.get("nodes") is not None:
        yield f"  ray: {ray['nodes']} nodes, {ray['gpus']} GPUs"
    elif ray and not silent:
        yield "  ray: gave no answer"
    if (ranks := item.get("ranks")) and ranks.get("here") is not None:
        yield from _ranks(ranks, ink)
    if hung := item.get("graphs_hung"):
        text = "CUDA graphs hung at the first request, so it runs without them; remembered for this image on"
        yield ink.warn(f"  {text} {', '.join(hung)}")
    up = {node["name"] for node in item.get("nodes", ()) if node.get("state") == "running"}
    for endpoint in item.get("endpoints", ()):
        # another deployment may answer at the address of one that does not run
        health = ink.bad("does not answer" if endpoint.get("node") in up else "is not running")
        health = ink.bad("unknown") if endpoint.get("node") in silent else health
        health = ink.good("answers") if endpoint.get("healthy") else health
        yield f"  {endpoint['url']}  {endpoint.get('model')}  {health}"


def _ranks(ranks: Document, ink: Ink) -> Iterator[str]:
    """How many of vLLM's ranks have met, and a line for each that has not."""
    yield f"  ranks: {ranks['here']} of {ranks['total']} are here"
    for one in ranks["missing"]:
        why = f": {clip(one['reason'], LONGEST_REASON)}" if one.get("reason") else ""
        yield ink.bad(f"  missing: rank {one['rank']} on {one['node']}{why}")


def _state(state: str, ink: Ink) -> str:
    if state in ("serving", "asleep"):
        return ink.good(state)
    return ink.warn(state) if state in ("starting", "stopped") else ink.bad(state)


def logs(document: Document, ink: Ink, how: How) -> Iterator[str]:
    parts = document.get("logs", ())
    for part in parts:
        if len(parts) > 1:
            yield ink.bold(f"==> {part['node']} {part.get('container') or ''} <==")
        yield from str(part.get("text", "")).splitlines()
    if "logs" in document and not parts:
        yield "These nodes have no logs of sparkops deployments."


def key(document: Document, ink: Ink, how: How) -> Iterator[str]:
    yield str(document.get("key", ""))


def rotated(document: Document, ink: Ink, how: How) -> Iterator[str]:
    if document.get("check"):
        yield from (f"would restart {name} with the new key" for name in document.get("restarted", ()))
        yield from checked(document, ink, how)
        return
    if not document.get("rotated"):
        again = ", ".join(document.get("restarted", ()))
        done = (
            f"This is the key already; started again: {again}."
            if again
            else "Nothing changed: this is the key already."
        )
        yield ink.good(done)
        return
    named = shlex.join([document["deployment"], *(["--limit", how.limit] if how.limit else [])])
    yield ink.good(f"The key was changed. Print it: `{how.command} key --deployment {named}`")
    for name in document.get("restarted", ()):
        yield f"  restarted with the new key: {name}"


def endpoint(document: Document, ink: Ink, how: How) -> Iterator[str]:
    """Lines for a shell: `eval "$(sparkops endpoint --for openai)"`; for curl a request to paste."""
    if not document.get("api_key", True):
        yield "# This deployment serves without an API key; clients may send any."
    if document.get("request"):
        yield from _curl(document, how)
        return
    if file := document.get("file"):
        yield f"# in {file['path']}"
        yield from file["text"].splitlines()
        return
    for name, value in document.get("variables", {}).items():
        yield f"export {name}={shlex.quote(str(value))}"
    if document.get("example"):
        yield f"# then: {document['example']}"


def _curl(document: Document, how: How) -> Iterator[str]:
    """The request reads the key when it runs, so the key is not printed."""
    base, request = next(iter(document["variables"].values())), document["request"]
    key = f"{how.command} key --deployment {document['named']}"
    header = f' -H "Authorization: Bearer $({key})"' if document.get("api_key", True) else ""
    yield f"curl {shlex.quote(base + request['path'])}{header} \\"
    yield f"  -H 'Content-Type: application/json' -d {shlex.quote(json.dumps(request['body']))}"


def facts(document: Document, ink: Ink, how: How) -> Iterator[str]:
    """The raw capture as it came, or each node's facts as a small tree."""
    if "raw" in document:
        yield str(document["raw"]).removesuffix("\n")
        return
    for node in document.get("nodes", ()):
        yield ink.bold(str(node.get("name")))
        rest = {name: value for name, value in node.items() if name != "name"}
        yield from _tree(rest, "  ", ink, how)
    yield from away(document, ink)


def _tree(values: Document, indent: str, ink: Ink, how: How) -> Iterator[str]:
    """One line for each value, flat mapping and item of a list; `-v` clips no line and shows what was not read."""
    for name, value in values.items():
        if value == NOT_READ and not how.verbose:
            continue
        if isinstance(value, Mapping) and not _flat(value.values()):
            yield f"{indent}{name}"
            yield from _tree(value, indent + "  ", ink, how)
        elif isinstance(value, list) and not _flat(value):
            yield f"{indent}{name}"
            yield from (_clipped(f"{indent}  {_plain(item)}", how) for item in value)
        else:
            yield _clipped(f"{indent}{ink.dim(name)}  {_plain(value)}", how)


def _flat(values: Iterable[object]) -> bool:
    return not any(isinstance(item, Mapping) or (isinstance(item, list) and not _flat(item)) for item in values)


def _plain(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_plain(item)}" for name, item in value.items()) or "-"
    if isinstance(value, list) and _flat(value):
        return " ".join(map(_plain, value)) or "-"
    return words(value).strip().replace("\n", "; ") or "-"


def _clipped(line: str, how: How) -> str:
    return line if how.verbose else clip_line(line, WIDTH)
