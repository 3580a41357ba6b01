"""Answer of `advise`: the topology, then the evidence, then the ceiling."""

from collections.abc import Iterator, Sequence

from sparkops.report.text import Document, How, Ink, columns, wrapped

WHOSE = {"own": "your own benchmarks", "measured": "measured by others", "article": "decision table"}
RATES = {"ttft": "ms"}
"""Units of the published values, where they are no tokens/s."""

UNITS = {"decode": "tokens/s", "prefill": "tokens/s", "ttft": "ms", "latency": "tokens/s per request"}


def advice(document: Document, ink: Ink, how: How) -> Iterator[str]:
    goal, opinions = document.get("goal"), document.get("opinions", ())
    asked = f"{goal} with {document.get('concurrency')} requests at once"
    if document.get("topology"):
        yield f"use {ink.good(str(document['topology']))} for {asked}, recipe {document.get('recipe')}"
    elif goal:
        yield f"sparkops has no evidence which topology is best for {asked}"
    if len(opinions) > 1 and not document.get("agreed"):
        yield ink.warn("the sources recommend different topologies:")
    for opinion in opinions:
        yield f"  {ink.bold(opinion['topology'])} ({WHOSE[opinion['basis']]}): {opinion['why']}"
        if opinion.get("values"):
            unit, shares = UNITS.get(str(goal), ""), opinion.get("divided_by")
            divided = f" (not measured: the total divided by {shares} requests)" if shares else ""
            yield f"    {', '.join(f'{name} {value}' for name, value in opinion['values'].items())} {unit}{divided}"
        yield ink.dim(f"    {opinion['source']}, {opinion['date']}")
    yield from _published(document, ink)
    yield from _limits(document, ink)


def _published(document: Document, ink: Ink) -> Iterator[str]:
    """What others measured with this recipe in one topology only."""
    unit = RATES.get(str(document.get("goal")), "tokens/s")
    for one in document.get("published", ()):
        what = f"{one['value']} {unit} at concurrency {one['concurrency']}"
        yield f"  {one['topology']} (published for this recipe, no other topology to compare with): {what}"
        yield ink.dim(f"    {one['source']}, {one['date']}")


def _limits(document: Document, ink: Ink) -> Iterator[str]:
    for one in document.get("not_possible", ()):
        yield from wrapped(f"{one['topology']} is not possible: {one['reason']}", "  ")
    for warning in document.get("warnings", ()):
        yield f"  {ink.warn('warning:')} {warning}"
    nodes: Sequence[str] = document.get("nodes") or ()
    if len(nodes) == 1:
        yield f"  only solo is possible: the inventory has one node, {nodes[0]}"
    if len(nodes) > 2:
        measured = {"solo": "2x-solo", "cluster": "cluster"}
        copies = [f"{measured[one.partition('x-')[2]]} as {one}" for one in document["most"] if "x-" in one]
        yield f"  the sources measured two nodes; for your {len(nodes)}, read {' and '.join(copies)}"
    for model in document.get("measured_with", ()):
        yield f"  the sources measured {model}; the model of this recipe may give other results"
    if document.get("ceiling"):
        yield ink.bold("upper limit for one request, from the memory bandwidth of 273 GB/s")
        rows = []
        for one in document["ceiling"]:
            over = f", over {one['nodes']} nodes" if one["nodes"] > 1 else ""
            rows.append(
                [one["topology"], f"{one['tokens_s']} tokens/s", f"{one['gb_per_token']} GB read per token{over}"]
            )
        yield from columns(rows, "  ")
        yield ink.dim("  several requests at once share these reads, so their total tokens/s can be higher")
