"""Which servers of a fleet answer to which model name at its endpoint, and with which API keys."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from sparkops.core.inventory import Node
from sparkops.core.revision import GATEWAY, Member, Revision, RevisionImage

USUAL_PORT = 4000
"""Where LiteLLM listens by default."""


@dataclass(frozen=True)
class ModelRoute:
    """A model name at the endpoint, and the `servers` that answer to it under the name `served`.

    `kind` is that of the model's requests: chat, embedding or score. Each server has the name of its deployment. `keys`
    are SHA-256 digests of the API keys that open it; an empty one: no key is needed.
    """

    name: str
    served: str
    kind: str
    servers: tuple[tuple[str, Member], ...]
    keys: frozenset[str]


def gateway_name(fleet: str) -> str:
    """What the endpoint is called beside the deployments."""
    return f"{fleet}-gateway"


def gateway(fleet: str, node: Node, port: int, image: RevisionImage) -> Revision:
    """The revision of a fleet's endpoint: a proxy that serves no model itself."""
    return Revision(
        deployment=gateway_name(fleet),
        recipe=GATEWAY,
        model="",
        served="",
        kind=GATEWAY,
        topology=GATEWAY,
        executor=None,
        image=image,
        args={},
        env={},
        mounts=(),
        members=(Member(node.name, node.address, "proxy", 0, port),),
    )


def routes(revisions: Iterable[tuple[Revision, str]], names: Mapping[str, str]) -> tuple[ModelRoute, ...]:
    """The routes to these deployments, each with the digest of its key: by served model name, then by the `names`.

    All servers of one served name answer to it, also those of several deployments.
    """
    found: dict[str, ModelRoute] = {}
    of = {revision.deployment: (revision, digest) for revision, digest in revisions}
    wanted = [(revision.served, name) for name, (revision, _) in of.items()]
    for called, deployment in (*wanted, *names.items()):
        revision, digest = of[deployment]
        known = found.get(called, ModelRoute(called, revision.served, revision.kind, (), frozenset()))
        servers = tuple((deployment, member) for member in revision.engines if member.port is not None)
        key = "" if revision.without_key else digest
        found[called] = replace(known, servers=(*known.servers, *servers), keys=known.keys | {key})
    return tuple(found.values())


def by_key(found: Sequence[ModelRoute]) -> dict[str, list[str]]:
    """The model names that each API key opens, by its digest; those below the empty one need no key."""
    keys = sorted({key for one in found for key in one.keys})
    return {key: [one.name for one in found if key in one.keys] for key in keys}
