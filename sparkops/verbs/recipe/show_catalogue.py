"""Answers about what sparkops knows: rules and recipes."""

import re
import textwrap
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from sparkops.report.text import WIDTH, Document, How, Ink, clip, columns, continued, words, wrapped
from sparkops.verbs.recipe.show_page import page


def rules(document: Document, ink: Ink, how: How) -> Iterator[str]:
    """All rules as a list, or one with its reason, source and examples."""
    known = document.get("rules", ())
    if len(known) != 1:
        yield from columns([[ink.bold(str(r["id"])), ", ".join(r.get("actions", ())), r["title"]] for r in known])
        yield ink.dim("`sparkops rules ID` explains a rule; `deploy --allow ID` switches it off for one run.")
        yield ink.dim("--allow also takes the ids of node checks: `sparkops preflight --list`.")
        return
    rule = known[0]
    yield f"{ink.bold(str(rule['id']))}: {rule['title']} ({', '.join(rule.get('actions', ()))})"
    for name in ("why", "source", "example_hit", "example_miss"):
        if rule.get(name):
            yield ""
            yield ink.dim(name.replace("_", " ").replace("hit", "that triggers it").replace("miss", "that does not"))
            yield from textwrap.wrap(_text(rule[name]), 100, initial_indent="  ", subsequent_indent="  ")


def recipes(document: Document, ink: Ink, how: How) -> Iterator[str]:
    """One line a recipe, with the topologies that it fits; then why a recipe fits none."""
    nodes = document.get("nodes")
    whose = f"your nodes ({len(nodes)})" if nodes else "two nodes"
    rows = [[ink.bold("recipe"), ink.bold(f"fits on {whose}"), ink.bold("description")]]
    for item in document.get("recipes", ()):
        rows.append([item["name"], _fits(item.get("fits", ()), ink), item.get("description") or item.get("model")])
    yield from columns(rows)
    yield from _nowhere(document, ink)
    marks = {
        "tight": "~ means tight: little memory is left for the system and the page cache.",
        "unknown": "? means unknown: sparkops does not know how much memory this model needs.",
    }
    used = {fit["fit"] for item in document.get("recipes", ()) for fit in item.get("fits", ())}
    yield from (ink.dim(text) for fit, text in marks.items() if fit in used)
    yield from _warnings(document, ink)
    if found := document.get("pages"):
        yield ink.bold("pages for people, beside the endpoint of a fleet")
        yield from columns([[one["name"], one["description"]] for one in found], "  ")
    yield from _catalogues(document, ink)
    yield ink.dim("`sparkops recipe show NAME [--topology T]` shows a recipe; `sparkops recipe search WORD` searches.")


def _catalogues(document: Document, ink: Ink) -> Iterator[str]:
    """The catalogues, or the one whose recipes were listed, with their origins."""
    known, one = document.get("catalogues", ()), document.get("catalogue")
    if known:
        yield ink.bold("from" if one else "catalogues of other people's recipes")
        rows = [[item["name"], _counted(item), f"{item['origin']} at {_commit(item)}", _kept(item)] for item in known]
        yield from columns(rows, "  ")
        if not one:
            yield ink.dim("`sparkops recipe list CATALOGUE` lists the recipes of a catalogue.")


def _counted(item: Document) -> str:
    unread = f", {item['unread']} of them cannot be used" if item.get("unread") else ""
    return f"{item['recipes']} recipe{'' if item['recipes'] == 1 else 's'}{unread}"


def _commit(item: Document) -> str:
    return str(item["commit"]).rpartition(":")[2][:12]


def _kept(item: Document) -> str:
    return f"{item['ref']}, " * bool(item.get("ref")) + f"since {item['added']}"


def found(document: Document, ink: Ink, how: How) -> Iterator[str]:
    """Each recipe with the lines that mention the words."""
    for item in document.get("recipes", ()):
        yield ink.bold(str(item["name"]))
        for line in (line for line in item.get("mentions", ()) if line != item["name"]):
            yield from wrapped(line, "  ")
    if not document.get("recipes"):
        yield f"no recipe mentions {' '.join(document.get('words', ()))}"
    yield from _warnings(document, ink)


def _within(folder: str, origin: str) -> str:
    """An origin (`extends NAME FILE:LINE`) without the folder that the recipe itself lies in."""
    return re.sub(rf"(^| ){re.escape(folder)}", r"\1", origin)


def recipe(document: Document, ink: Ink, how: How) -> Iterator[str]:
    """One recipe: settings, rules, command, memory, uses, published results; or a page."""
    if found := document.get("page"):
        yield from page(found, ink)
        return
    found = document.get("recipe", {})
    yield f"{ink.bold(str(found.get('name')))}  {found.get('model')}"
    yield f"  {_meant(document['author'])}"
    about = ("description", "source", "container", "revision", "verified", "only", "mounts")
    yield from columns([[name, _text(found[name])] for name in about if found.get(name)], "  ")
    if catalogue := document.get("catalogue"):
        yield f"  catalogue {catalogue['name']}: {catalogue['origin']} at {catalogue['commit']}"
    here = partial(_within, "".join(str(found.get("source")).rpartition("/")[:2]))
    for part, title in (("args", "flags"), ("env", "environment")):
        if found.get(part):
            yield ink.bold(title)
            items = found[part].items()
            rows = [[name, clip(_text(one["value"]), 60), ink.dim(here(one["origin"]))] for name, one in items]
            yield from columns(rows, "  ")
    for finding in document.get("rules", ()):
        yield f"{ink.bold('rule')} {finding['id']}: {finding['action']}: {finding['message']}"
        if finding.get("hint"):
            yield from wrapped(finding["hint"], "  ")
    if document.get("command"):
        yield ink.bold(f"command as {document.get('topology')}")
        yield from continued(document["command"], "  ")
        yield ink.dim("  deploy adds host, port and network settings; `sparkops plan` shows the whole command")
    yield from _memory(document.get("memory") or {}, ink)
    yield from _metadata(found.get("metadata") or {}, ink)
    for table in document.get("reference", ()):
        yield from reference(table, ink)


def _meant(author: Document) -> str:
    """How the author runs the recipe."""
    if author["topologies"] == ["solo"]:
        return "runs on one node (solo)"
    over = f"over {author['nodes']} nodes by executor {author['executor']}"
    if not author["sizes"]:
        kinds = " or ".join(author["topologies"])
        return f"runs as {kinds}; sets no parallel sizes, so a cluster takes the selected nodes"
    sizes = ", ".join(f"{way} parallel size {size}" for way, size in author["sizes"].items())
    return f"runs as cluster {over}: {sizes}"


def _fits(fits: Iterable[Document], ink: Ink) -> str:
    paint = {"fits": ink.good, "tight": ink.warn, "unknown": ink.dim}
    marks = {"fits": "", "tight": "~", "unknown": "?"}
    cells = [paint[one["fit"]](f"{marks[one['fit']]}{one['topology']}") for one in fits if one["fit"] in paint]
    return "  ".join(cells) or ink.bad("none")


def _nowhere(document: Document, ink: Ink) -> Iterator[str]:
    """For each recipe that fits no topology, the reason for the largest one."""
    for item in document.get("recipes", ()):
        fits = item.get("fits", ())
        if fits and all(one["fit"] == "no" for one in fits):
            yield from wrapped(f"{item['name']} as {fits[-1]['topology']}: {fits[-1]['reason']}", "  ")


def _warnings(document: Document, ink: Ink) -> Iterator[str]:
    for warning in document.get("warnings", ()):
        yield f"{ink.warn('warning:')} {warning}"


def _memory(memory: Document, ink: Ink) -> Iterator[str]:
    """The memory estimate as a sum."""
    if not memory:
        return
    paint = {"fits": ink.good, "tight": ink.warn, "no": ink.bad}.get(memory["fit"], ink.dim)
    verdict = {"fits": "fits", "tight": "tight", "no": "does not fit"}.get(memory["fit"], "not known")
    because = f", because {memory['reason']}" if memory.get("reason") else ""
    yield f"{ink.bold('memory of each node')} (estimate, GiB): {paint(verdict)}{because}"
    rows = [["weights", memory.get("weights")], ["overhead", memory["overhead"]], ["KV cache", memory.get("kv_cache")]]
    rows += [["total", f"{memory['claimed']} of {memory['available']} available"]]
    if memory.get("sequences") is not None:
        room = f"{memory['sequences']} requests of {memory['context']} tokens, {memory['tokens']} tokens in total"
        rows += [["room for", room], ["longest context", f"{memory['longest']} tokens, if only one request runs"]]
        rows += [["per token", f"{memory['kv_per_token']} KiB of KV cache; per request {memory['per_sequence']} GiB"]]
    yield from columns(rows, "  ")
    if memory.get("weights") is None:
        yield ink.dim("  `sparkops recipe new ORG/NAME` writes a recipe with the size and the architecture of a model")
    for option in memory.get("would_fit", ()):
        yield f"  {ink.good('would fit:')} {option}"
    if memory.get("note"):
        yield f"  {memory['note']}"


TITLES = {
    "before": "before the first start",
    "when": "when to use it",
    "when_not": "when not to use it",
    "tested_with": "tested with",
}


def _metadata(metadata: Document, ink: Ink) -> Iterator[str]:
    """The notes of the recipe's author."""
    order = ("before", "when", "when_not", "trade_offs", "notes", "source", "hardware", "tested_with")
    for name in order:
        if not metadata.get(name):
            continue
        yield ink.bold(TITLES.get(name, name.replace("_", "-")))
        value = metadata[name]
        if isinstance(value, dict):
            value = ", ".join(f"{key} {said}" for key, said in value.items() if said)
        for item in value if isinstance(value, list | tuple) else [value]:
            yield from textwrap.wrap(
                _text(item), WIDTH, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False
            )


def reference(table: Document, ink: Ink) -> Iterator[str]:
    """A reference table with every number as its source prints it."""
    where = f", {table['topology']}" if table.get("topology") else ""
    yield f"{ink.bold('published results:')} {table['title']}{where}"
    heads = [ink.dim(one["name"] + (f" [{one['unit']}]" if one.get("unit") else "")) for one in table["columns"]]
    yield from columns([heads, *(list(row) for row in table["rows"])], "  ")
    texts = [str(table[name]) for name in ("setup", "reading") if table.get(name)]
    for text in (*texts, f"{table['source']}, {table['date']}"):
        yield from wrapped(text, "  ")


def _text(value: Any) -> str:
    if isinstance(value, list | tuple) and all(isinstance(item, str) for item in value):
        return ", ".join(value)
    return words(value)
