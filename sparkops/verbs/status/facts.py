"""`facts`: what sparkops reads from the nodes."""

from dataclasses import replace

from sparkops.core.facts import plain
from sparkops.report.answer import Answer
from sparkops.report.report import Report
from sparkops.session.open import alone, opened, selected
from sparkops.verbs.status.options import FactsOptions


def facts(options: FactsOptions, report: Report) -> Answer:
    """Show the facts of the selected nodes; `--raw` prints one node's unparsed capture."""
    chosen = selected(options.where, report)
    if options.node is not None:
        chosen = replace(chosen, nodes=(chosen.inventory.node(options.node),))
    with opened(alone(chosen), report) as session:
        wanted = session.names
        if options.raw:
            name, node = wanted[0], session.selected[0]
            return Answer({"raw": session.one(name, session.facts_command(node), "read its facts"), "node": name})
        found = session.facts()
        shown = [{"name": name, **plain(found[name])} for name in wanted if name in found]
        return session.answer({"nodes": shown})
