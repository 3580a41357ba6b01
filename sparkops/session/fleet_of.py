"""What of a fleet no longer fits once a single deployment is changed."""

from collections.abc import Iterable, Mapping, Sequence

from sparkops.core.facts import Container, Facts
from sparkops.phases.parts import DeployedRevision
from sparkops.session.find_gateway import gateways_on, routes_to
from sparkops.session.session import Session


def tell_of_fleet(session: Session, changed: Iterable[Container]) -> None:
    """Note that these containers, which stop or are replaced, were started for a fleet."""
    for fleet in dict.fromkeys(one.fleet for one in changed if one.fleet and one.runs):
        told = "what served was applied from its file, so the nodes now differ from that"
        session.report.note(f"{fleet}: {told}: `sparkops diff` shows how, `sparkops apply` brings it back")


def tell_of_routes(session: Session, facts: Mapping[str, Facts], rotated: Sequence[DeployedRevision]) -> None:
    """Note the endpoints of fleets that know these deployments by the key that they had before."""
    for one in (it for it in gateways_on(facts, session.names) if it.runs):
        if any(routes_to(other.stored, one.stored, facts) for other in rotated):
            told = f"{one.stored.deployment} knows only the earlier key, and refuses the new one"
            session.report.note(f"the endpoint {told} until you run `sparkops apply`")
