"""How what serves differs from the fleet's file, if one is here and was applied to these nodes."""

from collections.abc import Iterator, Sequence

from sparkops.core.findings import Finding
from sparkops.core.fleet.fleet_file import WantedFleet
from sparkops.core.fleet.routes import gateway_name
from sparkops.core.topology import split
from sparkops.errors import Refused, UsageError
from sparkops.files import fleets
from sparkops.phases.parts import DeployedRevision
from sparkops.session.open import Selected
from sparkops.session.session import Session
from sparkops.verbs.fleet.observe import started_by
from sparkops.verbs.fleet.options import FleetOptions
from sparkops.verbs.status.options import StatusOptions

LOOK = "see all that differs: `sparkops diff`"


def of_fleet(
    options: StatusOptions, session: Session, chosen: Selected, here: Sequence[DeployedRevision]
) -> Iterator[Finding]:
    """What of the file does not run, what it no longer has, and what an `apply` without the lost nodes would move."""
    try:
        if fleet := _applied(here):
            yield from _differences(fleet, here, " on the nodes that answer" if session.lost else "")
            yield from _moves(options, fleet, session, chosen, here)
    except (UsageError, Refused) as error:
        yield _unreadable(error)


def drift(here: Sequence[DeployedRevision]) -> Iterator[Finding]:
    """What of the file does not run, and what it no longer has."""
    try:
        if fleet := _applied(here):
            yield from _differences(fleet, here, "")
    except (UsageError, Refused) as error:
        yield _unreadable(error)


def _applied(here: Sequence[DeployedRevision]) -> WantedFleet | None:
    """The fleet's file, if one is here and something of it was started."""
    fleet = fleets.fleet() if fleets.here() else None
    return fleet if fleet and any(started_by(one, fleet.name) for one in here) else None


def _unreadable(error: UsageError | Refused) -> Finding:
    return Finding("fleet-file", "warn", error.message, "", error.hint or LOOK)


def _differences(fleet: WantedFleet, here: Sequence[DeployedRevision], where: str) -> Iterator[Finding]:
    wanted = [*(one.name for one in fleet.deployments), *(one.name for one in fleet.pages)]
    wanted += [gateway_name(fleet.name)] if fleet.endpoint else []
    running = {one.stored.deployment: one for one in here if one.runs}
    for name in wanted:
        if name not in running:
            yield Finding("fleet-missing", "warn", f"{name} of {fleet.source} does not run{where}", "", LOOK)
    for name, one in running.items():
        if name not in wanted and started_by(one, fleet.name):
            yield Finding("fleet-extra", "warn", f"{name} is no longer in {fleet.source}", "", LOOK)


def _moves(
    options: StatusOptions,
    fleet: WantedFleet,
    session: Session,
    chosen: Selected,
    here: Sequence[DeployedRevision],
) -> Iterator[Finding]:
    """What would move if the fleet was applied without the nodes that are away."""
    lost = session.lost
    if not lost:
        return
    from sparkops.verbs.fleet.run import places_of  # noqa: PLC0415  only with a node that is away

    others = ",".join(node.name for node in session.there)
    placement = places_of(FleetOptions(options.where), fleet, session, chosen).placement
    now = {one.stored.deployment: [[it.name for it in copy] for copy in split(one.stored.engines)] for one in here}
    for name, copies in placement.copies.items():
        before, after = now.get(name), [list(copy) for copy in copies]
        if before is None or {*lost}.intersection(node for copy in before for node in copy):
            text = f"without {', '.join(lost)}, {name} would serve on {', '.join(' + '.join(copy) for copy in after)}"
            yield Finding("fleet-moves", "warn", text, "", f"to move it: `sparkops apply --limit {others}`")
    for name in placement.without:
        text = f"without {', '.join(lost)}, {name} has no place"
        yield Finding("fleet-moves", "warn", text, "", "bring the node back, or see why: `sparkops place`")
