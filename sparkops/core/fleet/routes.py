"""Which servers of a fleet answer to which model name at its endpoint, and with which API keys."""

from collections.abc import Iterator, Mapping
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


LOADED = "loaded"
"""In `names`, in place of a deployment: whichever chat model is loaded."""


class RoutedServer(NamedTuple):
    """A server of a deployment. `key` is the SHA-256 digest of the deployment's API key; empty: it needs none.

    It has a name of its own for the model, `served`, where that of the route is none.
    """

    deployment: str
    place: ApiPlace
    key: str
    served: str = ""


@dataclass(frozen=True)
class ModelRoute:
    """A model name at the endpoint, and the `servers` that answer to it under the name `served`.

    `kind` is that of the model's requests: chat, embedding or score. Without `served`, the servers are of several
    deployments, of which the endpoint asks one that is loaded.
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
    wanted = {(revision.served, name) for name, (revision, _) in places.items()}
    wanted |= {(called, name) for called, name in names.items() if name in places}
    for called, name in sorted(wanted):
        revision = places[name][0]
        known = found.get(called, ModelRoute(called, revision.served, revision.kind))
        found[called] = replace(known, servers=(*known.servers, *_servers(name, *places[name])))
    chats = [(name, *one) for name, one in sorted(places.items()) if one[0].kind == "chat"]
    chat_servers = tuple(one._replace(served=it[1].served) for it in chats for one in _servers(*it))
    for called in sorted(called for called, name in names.items() if name == LOADED and chat_servers):
        found[called] = ModelRoute(called, "", "chat", chat_servers)
    return tuple(found.values())


def _servers(name: str, revision: Served, digest: str) -> Iterator[RoutedServer]:
    for member in revision.engines:
        if member.port is not None:
            yield RoutedServer(name, member, "" if revision.without_key else digest)
