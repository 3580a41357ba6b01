"""`history`: the runs that locked the nodes, and what endpoints did there, as the nodes remember them."""

from dataclasses import replace

from sparkops.core.facts import Left
from sparkops.core.history import runs, switched
from sparkops.core.plan import Command, Script
from sparkops.report.answer import Answer
from sparkops.report.report import Report
from sparkops.session.open import alone, opened, selected
from sparkops.verbs.history.options import HistoryOptions

LINES = 20
"""Notes for each run: one that locks a node in several sessions, or is about several deployments, has more than two."""

TO_SECONDS = len("2026-11-29T12:00:00")


def history(options: HistoryOptions, report: Report) -> Answer:
    """Return the last runs of the selected nodes, newest last."""
    chosen = selected(options.where, report)
    if options.node is not None:
        chosen = replace(chosen, nodes=(chosen.inventory.node(options.node),))
    with opened(alone(chosen), report) as session:
        ask = Command((Script("facts"), "--only", "lock,state", "--history", str(LINES * options.tail)), reads=True)
        facts = session.read(dict.fromkeys(session.names, ask))
        past = {name: known.history for name, known in facts.items()}
        doors = {name: known.state.admitted for name, known in facts.items() if isinstance(known.state, Left)}
        rows = [*(one.document for one in runs(past)), *switched(doors)]
        return session.answer({"runs": sorted(rows, key=lambda row: str(row["began"])[:TO_SECONDS])[-options.tail :]})
