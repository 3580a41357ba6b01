"""What a fleet's file no longer says once a single deployment is changed."""

from collections.abc import Iterable

from sparkops.core.facts import Container
from sparkops.session.session import Session


def tell_of_fleet(session: Session, changed: Iterable[Container]) -> None:
    """Note that these containers, which stop or are replaced, were started for a fleet."""
    for fleet in dict.fromkeys(one.fleet for one in changed if one.fleet and one.runs):
        told = "what served was applied from its file, so the nodes now differ from that"
        session.report.note(f"{fleet}: {told}: `sparkops diff` shows how, `sparkops apply` brings it back")
