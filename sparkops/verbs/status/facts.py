"""`facts`: what sparkops reads from the nodes."""

from dataclasses import replace

from sparkops.core.facts import plain
from sparkops.core.schema import did_you_mean
from sparkops.errors import UsageError
from sparkops.report.answer import Answer
from sparkops.report.report import Report
from sparkops.session.open import Selected, opened, selected
from sparkops.verbs.status.options import FactsOptions


def facts(options: FactsOptions, report: Report) -> Answer:
    """What was read from the nodes, and from no other; `--raw` is one node's capture as it came."""
    with opened(_alone(selected(options.where, report), options.node), report) as session:
        wanted = session.names
        if options.raw:
            name, node = wanted[0], session.selected[0]
            return Answer({"raw": session.one(name, session.facts_command(node), "read its facts"), "node": name})
        found = session.facts()
        shown = [{"name": name, **plain(found[name])} for name in wanted if name in found]
        return session.answer({"nodes": shown})


def _alone(chosen: Selected, name: str | None) -> Selected:
    """The named node, else those selected, as if there were no others: none of them has a say in this."""
    there = {node.name: node for node in chosen.inventory.nodes}
    if name is not None and name not in there:
        raise UsageError(f"no node {name} in the inventory{did_you_mean(name, there)}")
    nodes = chosen.nodes if name is None else (there[name],)
    return replace(chosen, inventory=replace(chosen.inventory, nodes=nodes), nodes=nodes)
