"""Which servers of a fleet answer to which model name at its endpoint, and with which API keys."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from sparkops.core.endpoints import ApiPlace
from sparkops.core.inventory import Node
from sparkops.core.revision import GATEWAY, Member, Revision, RevisionImage
from sparkops.core.stored import Stored

USUAL_PORT = 4000
"""Where LiteLLM listens by default, which endpoints were at first."""


Served = Revision | Stored
"""A deployment as it is to be, or as its labels tell it."""


class RoutedServer(NamedTuple):
    """A server of a deployment. `key` is the SHA-256 digest of the deployment's API key; empty: it needs none."""

    deployment: str
    place: ApiPlace
    key: str


@dataclass(frozen=True)
class ModelRoute:
    """A model name at the endpoint, and the `servers` that answer to it under the name `served`.

    `kind` is that of the model's requests: chat, embedding or score.
    """

    name: str
    served: str
    kind: str
    servers: tuple[RoutedServer, ...] = ()


def gateway_name(fleet: str) -> str:
    """What the endpoint is called beside the deployments."""
    return f"{fleet}-gateway"


def gateway(fleet: str, node: Node, port: int, image: RevisionImage, program: str, *, starts: bool) -> Revision:
    """The revision of a fleet's endpoint, which serves no model itself; `program` is the digest of its program.

    It `starts` deployments on demand, for which it needs more of its node.
    """
    return Revision(
        deployment=gateway_name(fleet),
        recipe=GATEWAY,
        model="",
        served="",
        kind=GATEWAY,
        topology=GATEWAY,
        executor=None,
        image=image,
        args={"program": program, **({"on-demand": True} if starts else {})},
        env={},
        mounts=(),
        members=(Member(node.name, node.address, "proxy", 0, port),),
    )


def routes(places: Mapping[str, tuple[Served, str]], names: Mapping[str, str]) -> tuple[ModelRoute, ...]:
    """The routes to deployments where they are, each with the digest of its key: by served model name and `names`.

    All servers of one served name answer to it, also those of several deployments. The order of a file does not matter.
    """
    found: dict[str, ModelRoute] = {}
    wanted = [(revision.served, name) for name, (revision, _) in places.items()]
    for called, deployment in sorted({*wanted, *names.items()}):
        revision, digest = places[deployment]
        known = found.get(called, ModelRoute(called, revision.served, revision.kind))
        key = "" if revision.without_key else digest
        servers = (RoutedServer(deployment, member, key) for member in revision.engines if member.port is not None)
        found[called] = replace(known, servers=(*known.servers, *servers))
    return tuple(found.values())
