"""From what was asked for and what is there to a revision."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any, Literal

from sparkops.core import needs, proxy_image
from sparkops.core.effective import Effective
from sparkops.core.endpoints import EARLIER_PROXY_PORT
from sparkops.core.fabric import Cabling, Fabric, cabling_of, graph, links
from sparkops.core.facts import Facts, Model, Unread, known
from sparkops.core.inventory import Node
from sparkops.core.recipe import PORTS, VLLM
from sparkops.core.revision import FabricLink, Member, Revision, RevisionImage
from sparkops.core.situation import deployed
from sparkops.core.topology import Place, Placement
from sparkops.errors import UsageError

POOLING = {
    "pooling": "embedding",
    "embed": "embedding",
    "embedding": "embedding",
    "score": "score",
    "classify": "score",
}


NEAR = 16
"""How far above the wanted port one can be that was given because lower ones were taken."""


@dataclass(frozen=True)
class Ports:
    """By node: `taken` are the ports that a new deployment must not use, `used` those on which others listen.

    `kept` is the first port that this one has. It keeps that if it may have got it because lower ones were taken; else
    the recipe now asks for another port.
    """

    taken: Mapping[str, frozenset[int]]
    used: Mapping[str, frozenset[int]] = field(default_factory=dict)
    kept: Mapping[str, int] = field(default_factory=dict)

    def first(self, node: str, wanted: int, behind: int, *, proxy: bool) -> int:
        """The port that is kept, else the first from `wanted` on that is free with the next `behind` ones.

        `proxy`: whether a proxy is on the node, or only the server, which listens on the last of these ports.
        """
        kept, used, taken = self.kept.get(node, 0), self.used.get(node, ()), self.taken.get(node, frozenset())
        listens = (kept, kept + behind) if proxy else (kept + behind,)
        if wanted <= kept < wanted + NEAR and not any(port in used for port in listens):
            return kept
        return next(port for port in count(wanted) if taken.isdisjoint(range(port, port + behind + 1)))


def running_ports(facts: Mapping[str, Facts], but: str) -> Ports:
    """The ports of all deployments that run, without this one."""
    return Ports({node: _taken(known, but) for node, known in facts.items()})


def revise(
    name: str, effective: Effective, placement: Placement, facts: Mapping[str, Facts], ports: Ports | None = None
) -> Revision:
    """The revision of this placement of the recipe; `facts` must have every placed node.

    With `ports`, it listens on the first ports that no other deployment has.
    """
    cluster = placement.topology.kind == "cluster"
    first = facts[placement.head.node.name]
    links: dict[str, FabricLink] = {}
    if cluster:
        fabric = graph(facts)
        links = {name: link for copy in placement.copies for name, link in _links(copy, facts, fabric).items()}
    revision = Revision(
        deployment=name,
        recipe=effective.recipe.name,
        model=effective.model,
        model_revision=_snapshot(effective, first),
        models=_snapshots(effective, first) or None,
        served=effective.served_name,
        kind=model_kind(effective),
        topology=str(placement.topology),
        executor=placement.executor if cluster else None,
        image=_image(effective.image, first),
        args=args_of(effective),
        env={key: str(setting.value) for key, setting in sorted(effective.env.items())},
        mounts=effective.mounts,
        members=tuple(
            _member(place, facts[place.node.name], links, _port(place, placement, effective, ports))
            for place in placement.places
        ),
        proxy_image=_image(proxy_image.called(placement.proxy_image), first) if placement.proxies else None,
        proxy_metrics=True if placement.proxy_metrics else None,
        program=None if effective.recipe.starts == VLLM else " ".join(effective.recipe.starts),
    )
    return _kept(revision, effective, placement, facts) if placement.proxies else revision


def args_of(effective: Effective) -> dict[str, Any]:
    """The flags as a revision has them."""
    return {key: _plain(setting.value) for key, setting in sorted(effective.args.items())}


def _kept(revision: Revision, effective: Effective, placement: Placement, facts: Mapping[str, Facts]) -> Revision:
    """The running revision that differs only in earlier defaults for the proxy, else the given one."""
    earlier = [revision]
    if effective.recipe.port is None:
        earlier.append(replace(revision, members=tuple(map(_as_earlier, placement.places, revision.members))))
    for _, stored, _ in deployed(facts):
        image = stored.data.get("proxy_image") or {}
        if image.get("reference") in proxy_image.EARLIER and not placement.proxies[0].node.proxy_image:
            old = RevisionImage(image["reference"], str(image.get("fingerprint", "")))
            earlier += [replace(one, proxy_image=old) for one in earlier[:2]]
        if same := next((one for one in earlier if one.hash == stored.hash), None):
            return same
    return revision


def _as_earlier(place: Place, member: Member) -> Member:
    """The member on the port that earlier releases gave it behind or as a proxy."""
    return replace(member, port=EARLIER_PROXY_PORT if place.role == "proxy" else place.node.api_port)


def _snapshot(effective: Effective, head: Facts) -> str | None:
    """The commit that the head has, so that another one is a change; else the recipe's revision."""
    model = head.model
    told = "revision" in effective.args or effective.model.startswith("/")
    if told or not isinstance(model, Model) or not model.complete:
        return effective.recipe.revision
    return model.revision


def _snapshots(effective: Effective, head: Facts) -> dict[str, str]:
    """The commits of the further models that the head has."""
    hub = (one for one in needs.models(effective)[1:] if not one.name.local)
    found = {one.name.model: one.usable(head) for one in hub}
    return {name: model.revision for name, model in found.items() if model and model.revision}


def model_kind(effective: Effective) -> str:
    """The kind of request that the model answers: chat, embedding or score."""
    values = (str(effective.value(flag)) for flag in ("task", "convert", "runner"))
    return next((POOLING[value] for value in values if value in POOLING), "chat")


def _member(place: Place, facts: Facts, links: Mapping[str, FabricLink], port: int | None) -> Member:
    return Member(
        name=place.node.name,
        address=place.node.address,
        role=place.role,
        rank=place.rank,
        port=port,
        link=None if place.role == "proxy" else links.get(place.node.name),
        cache_dir=_absolute(place.node.cache_dir, facts.home),
    )


def _port(place: Place, placement: Placement, effective: Effective, ports: Ports | None) -> int | None:
    """Where a member listens: the endpoint on its port, servers behind a proxy on the next one.

    So clients keep their address when the topology changes.
    """
    if place.role == "worker":
        return None
    behind = 1 if placement.proxies else 0
    wanted = effective.recipe.port or place.node.api_port
    proxy = place.node in [one.node for one in placement.proxies]
    first = wanted if ports is None else ports.first(place.node.name, wanted, behind, proxy=proxy)
    if first + behind > PORTS[1] + 1:
        raise UsageError(f"{place.node.name}: port {first} is too high: servers behind a proxy need the next one")
    return first if place.role == "proxy" else first + behind


def _absolute(path: str | None, home: str) -> str | None:
    """An absolute path, as Docker needs it: `~/x` and `x` are below the home."""
    if path is None or path.startswith("/"):
        return path
    return home if path == "~" else f"{home}/{path.removeprefix('~/')}"


def _taken(facts: Facts, but: str) -> frozenset[int]:
    """The ports of the node's deployments, without this one."""
    return frozenset(
        member.get("port")
        for container in facts.containers
        if container.runs and container.deployment != but
        for member in (container.revision or {}).get("members", ())
        if member.get("role") == container.role
    )


def _links(placement: Placement, facts: Mapping[str, Facts], fabric: Fabric) -> dict[str, FabricLink]:
    """Each node's side of the fabric. If one has none (a check refuses that by default), all use their addresses."""
    cabling = cabling_of(fabric, [place.node.name for place in placement.engines])
    if cabling.kind in ("triangle", "ring"):
        return {node.name: _over_all_cables(node, facts[node.name], fabric, cabling) for node in placement.nodes}
    found = links(fabric, cabling, placement.nodes, facts)
    fabrics = {
        name: FabricLink(f.address, f.interface, f.twin, f.devices)
        for name, f in found.items()
        if not isinstance(f, Unread)
    }
    if len(fabrics) == len(found):
        return fabrics
    nodes = placement.nodes
    return {node.name: FabricLink(node.address, facts[node.name].interface_of(node.address) or "") for node in nodes}


def _over_all_cables(node: Node, facts: Facts, fabric: Fabric, cabling: Cabling) -> FabricLink:
    """In a triangle or ring: the management network, and the RDMA devices of every port that leads to another node."""
    cabled = [one for end in cabling.ends if end.node == node.name for one in fabric.ports[end].usable]
    devices = tuple(one.rdma.name for one in cabled if one.rdma and one.rdma.active)
    interface = facts.interface_of(node.address) or next((one.interface for one in known(facts.routes, ())), "")
    own = next((one.address for one in facts.interfaces if one.name == interface), None)
    address = node.address if facts.interface_of(node.address) else own or node.address
    kind: Literal["triangle", "ring"] = "triangle" if cabling.kind == "triangle" else "ring"
    return FabricLink(address, interface, None, devices, kind, tuple(one.name for one in cabled))


def _image(reference: str, facts: Facts) -> RevisionImage:
    found = facts.image(reference)
    return RevisionImage(reference, found.fingerprint if found else "")


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value
