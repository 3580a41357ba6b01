"""What rules and checks say of the deployments of a fleet that change, and what these need of each other."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from sparkops.checks.check import Here
from sparkops.checks.ports import wanted_ports
from sparkops.core.fleet.ports import Place
from sparkops.errors import Refused
from sparkops.verbs.deploy.compile import judge, keep_other_keys
from sparkops.verbs.deploy.draft import GOT_BY_SETUP
from sparkops.verbs.fleet.drafts import named
from sparkops.verbs.fleet.parts import FleetPart


def judged(parts: Sequence[FleetPart], taken: Mapping[Place, str], *, setup: bool) -> list[FleetPart]:
    """The parts with their findings; raises one Refused for all that is refused. With `setup`, models may be missing.

    `taken` are the ports of the fleet's endpoint and pages, with who needs them.

    What does not change is not judged, so that its node cannot hold up others.
    """
    found, refused = list[FleetPart](), list[Refused]()
    ours = frozenset(part.situation.revision.hash for part in parts)
    for part in parts:
        allow = part.wanted.options.allow | (GOT_BY_SETUP if setup else frozenset())
        try:
            with named(part.wanted.wanted):
                told = (*part.draft.findings, *judge(part.situation, allow)) if part.changes else ()
                keep_other_keys(part.situation, ours)
            found.append(replace(part, findings=told))
        except Refused as error:
            refused.append(error)
    refused += [*_same_ports(parts, taken)]
    if refused:
        hints = dict.fromkeys(line for one in refused for line in (one.hint or "").splitlines())
        raise Refused("\n".join(one.message for one in refused), hint="\n".join(hints) or None)
    return found


def _same_ports(parts: Sequence[FleetPart], taken: Mapping[Place, str]) -> Iterator[Refused]:
    """What two deployments need on one node, such as the port of Ray, if both have their head there."""
    owners = {**taken}
    for part in parts:
        s = part.situation
        for node in dict.fromkeys(place.node for place in s.placement.places):
            for port, use in wanted_ports(Here(s, node, s.facts[node.name])).items():
                other = owners.setdefault((node.name, port), part.name)
                if other != part.name:
                    where, text = part.wanted.wanted.where, f"port {port} of {node.name} ({use}), which {other} has"
                    yield Refused(f"{where}: {part.name}: needs {text}", hint="give one of them other nodes or a port")
