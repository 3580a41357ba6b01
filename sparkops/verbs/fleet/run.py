"""`place`: which nodes the deployments of a fleet would take."""

from sparkops.core.fleet.fleet_file import WantedFleet
from sparkops.files import fleets
from sparkops.report.answer import Answer
from sparkops.report.report import Report
from sparkops.session.open import Selected, connected, selected
from sparkops.session.session import Session
from sparkops.verbs.deploy.choose import READS
from sparkops.verbs.fleet.drafts import drafts_of
from sparkops.verbs.fleet.observe import Observed, observe_fleet
from sparkops.verbs.fleet.options import FleetOptions
from sparkops.verbs.fleet.places import no_place, places

PROBES = (*READS, "gpu-processes", "images", "model", "models")


def place(options: FleetOptions, report: Report) -> Answer:
    """Show the nodes that each deployment would take, or why it has no place; only reads the nodes."""
    fleet = fleets.fleet(options.file)
    chosen = selected(options.where, report)
    drafts = drafts_of(fleet, options, chosen)
    with connected(chosen, report) as session:
        observed = observe_fleet(drafts, session, fleet.name, PROBES)
        return session.answer({"file": fleet.source, **places(observed)}, no_place(observed))


def places_of(options: FleetOptions, fleet: WantedFleet, session: Session, chosen: Selected) -> Observed:
    """The places on the nodes that answer."""
    return observe_fleet(drafts_of(fleet, options, chosen), session, fleet.name, PROBES)
