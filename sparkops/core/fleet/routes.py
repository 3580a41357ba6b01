"""Which servers of a fleet answer to which model name at its endpoint, and with which API keys."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sparkops.core.endpoints import ApiPlace
from sparkops.core.inventory import Node
from sparkops.core.revision import GATEWAY, Member, Revision, RevisionImage
from sparkops.core.stored import Stored

USUAL_PORT = 4000
"""Where LiteLLM listens by default."""


Served = Revision | Stored
"""A deployment as it is to be, or as its labels tell it."""


@dataclass(frozen=True)
class ModelRoute:
    """A model name at the endpoint, and the `servers` that answer to it under the name `served`.

    `kind` is that of the model's requests: chat, embedding or score. Each server has the name of its deployment. `keys`
    are SHA-256 digests of the API keys that open it; an empty one: no key is needed.
    """

    name: str
    served: str
    kind: str
    servers: tuple[tuple[str, ApiPlace], ...]
    keys: frozenset[str]


def gateway_name(fleet: str) -> str:
    """What the endpoint is called beside the deployments."""
    return f"{fleet}-gateway"


def gateway(fleet: str, node: Node, port: int, image: RevisionImage, check: str) -> Revision:
    """The revision of a fleet's endpoint, which serves no model itself; `check` is the digest of its check of keys."""
    return Revision(
        deployment=gateway_name(fleet),
        recipe=GATEWAY,
        model="",
        served="",
        kind=GATEWAY,
        topology=GATEWAY,
        executor=None,
        image=image,
        args={"check": check},
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
        known = found.get(called, ModelRoute(called, revision.served, revision.kind, (), frozenset()))
        servers = tuple((deployment, member) for member in revision.engines if member.port is not None)
        key = "" if revision.without_key else digest
        found[called] = replace(known, servers=(*known.servers, *servers), keys=known.keys | {key})
    return tuple(found.values())


def by_key(found: Sequence[ModelRoute]) -> dict[str, list[str]]:
    """The model names that each API key opens, by its digest; those below the empty one need no key."""
    keys = sorted({key for one in found for key in one.keys})
    return {key: [one.name for one in found if key in one.keys] for key in keys}
