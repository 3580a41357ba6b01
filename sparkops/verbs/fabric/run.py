"""`fabric`: the ports and cables of all selected nodes, and the checks of them."""

from sparkops import checks
from sparkops.checks.judging import judged
from sparkops.remote.network import network
from sparkops.report.answer import Answer
from sparkops.report.report import Report
from sparkops.session.open import alone, opened, selected
from sparkops.session.session import Session
from sparkops.verbs.deploy.draft import Draft, spanning
from sparkops.verbs.fabric.document import drawn
from sparkops.verbs.fabric.options import FabricOptions
from sparkops.verbs.preflight.observe import see
from sparkops.verbs.preflight.run import document, verdict_error


def fabric(options: FabricOptions, report: Report) -> Answer:
    """Judge the fabric of the selected nodes as if one cluster were to use all of them."""
    chosen = alone(selected(options.where, report))
    with opened(chosen, report) as session:
        return judged_fabric(session, spanning(chosen), deep=options.deep)


def judged_fabric(session: Session, draft: Draft, *, deep: bool) -> Answer:
    """The fabric as it is now, and what is wrong with it; `deep` measures what it carries."""
    s = see(session, draft, checks.FABRIC, narrow=True, deep=deep, clock=network().clock)
    found = judged(s, session.selected, checks.FABRIC)
    judgement = document(s, session, found)
    shown = {key: judgement[key] for key in ("verdict", "nodes", "cluster", "order")}
    shown["unreachable"] = session.away.reasons
    return Answer({"fabric": drawn(s), **shown}, error=verdict_error(session, found))
