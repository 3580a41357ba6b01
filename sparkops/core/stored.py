"""Revisions as the labels on nodes hold them.

Every later version of sparkops reads these labels, so this reader requires little. A newer schema is shown but never
changed.
"""

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sparkops.core.facts.reading import mapping
from sparkops.core.inventory import Node
from sparkops.core.model_name import ModelName
from sparkops.core.needs import further
from sparkops.core.revision import GATEWAY, PAGE, SCHEMA, container_name
from sparkops.core.topology import WITHOUT_MODEL, split
from sparkops.core.utilization import UTILIZATION

A_DAY = 86_400
SHORT_HASH = 8
"""As many digits of a hash are shown and are enough on a command line."""


def drain(args: Mapping[str, Any]) -> int:
    """Seconds in which a stopped engine finishes the requests that run (`shutdown-timeout`)."""
    seconds = args.get("shutdown-timeout", 0)
    return int(seconds) if isinstance(seconds, int | float) and 0 < seconds < A_DAY else 0


@dataclass(frozen=True)
class StoredMember:
    name: str
    address: str
    role: str
    port: int | None
    fabric: str = ""
    """Its address on the fabric, in a cluster."""
    cache_dir: str | None = None
    """The model cache that its container mounts; None is the one below the home."""
    cabled: tuple[str, ...] = ()
    """The interfaces of its cables in a triangle or ring."""


def _rows(told: Any) -> Sequence[Any]:
    return told if isinstance(told, list | tuple) else ()


def _texts(told: Any) -> tuple[str, ...]:
    return tuple(map(str, told)) if isinstance(told, list) else ()


@dataclass(frozen=True)
class Stored:
    """A revision as a label holds it. `data` is the JSON as it was found.

    `nodes` maps addresses to this inventory's names of nodes; another inventory may use other names.
    """

    deployment: str
    hash: str
    data: Mapping[str, Any]
    nodes: Mapping[str, str] = field(default_factory=dict, compare=False)

    @property
    def newer(self) -> bool:
        schema = self.data.get("schema", 0)
        return not isinstance(schema, int) or schema > SCHEMA

    @property
    def recipe(self) -> str:
        return str(self.data.get("recipe", "?"))

    @property
    def topology(self) -> str:
        return str(self.data.get("topology", "?"))

    @property
    def image(self) -> str:
        return str(mapping(self.data.get("image")).get("reference", "?"))

    @property
    def served(self) -> str:
        return str(self.data.get("served", "?"))

    @property
    def models(self) -> tuple[ModelName, ...]:
        """The model that it serves, then the further ones, with their commits where the revision names them."""
        served = ModelName(str(self.data.get("model", "")), str(self.data.get("model_revision") or ""))
        args, commits = mapping(self.data.get("args")), mapping(self.data.get("models"))
        others = (one.name for one in further(served.model, args))
        return (served, *(ModelName(one.model, str(commits.get(one.model) or one.revision)) for one in others))

    @property
    def kind(self) -> str:
        return str(self.data.get("kind", "chat"))

    @property
    def is_gateway(self) -> bool:
        """Whether it is the endpoint of a fleet, and serves no model itself."""
        return self.kind == GATEWAY

    @property
    def is_page(self) -> bool:
        return self.kind == PAGE

    @property
    def is_companion(self) -> bool:
        """Whether it is what a fleet has beside its deployments: its endpoint, or a page for people."""
        return self.kind in (GATEWAY, PAGE)

    @property
    def without_key(self) -> bool:
        return self.data.get("without_key") is True

    @property
    def drain(self) -> int:
        return drain(mapping(self.data.get("args")))

    @property
    def share(self) -> float:
        """The part of each node's memory that its engines ask for."""
        try:
            asked = float(mapping(self.data.get("args")).get("gpu-memory-utilization", UTILIZATION))
        except (TypeError, ValueError):  # a label that we did not write
            return UTILIZATION
        return asked if 0 < asked <= 1 else UTILIZATION

    @property
    def cache_is_given(self) -> bool:
        """Whether the recipe gives the size of the KV cache."""
        return bool(mapping(self.data.get("args")).get("kv-cache-memory-bytes"))

    @property
    def executor(self) -> str | None:
        """What joins the nodes of a cluster: `ray` or `mp`; None for other topologies."""
        return str(self.data["executor"]) if self.data.get("executor") else None

    @property
    def members(self) -> tuple[StoredMember, ...]:
        return tuple(
            StoredMember(
                self._node(m),
                str(m.get("address", "")),
                str(m.get("role", "")),
                m.get("port"),
                str(mapping(m.get("link")).get("address", "")),
                str(m["cache_dir"]) if m.get("cache_dir") else None,
                _texts(mapping(m.get("link")).get("cabled")),
            )
            for m in _rows(self.data.get("members"))
            if isinstance(m, Mapping)
        )

    @property
    def places(self) -> tuple[tuple[str, str, int | None], ...]:
        """The node, role and port of each member."""
        return tuple((one.name, one.role, one.port) for one in self.members)

    def _node(self, member: Mapping[str, Any]) -> str:
        return self.nodes.get(str(member.get("address", "")), str(member.get("name", "?")))

    @property
    def engines(self) -> tuple[StoredMember, ...]:
        return tuple(member for member in self.members if member.role not in WITHOUT_MODEL)

    def copy_of(self, member: StoredMember) -> tuple[StoredMember, ...]:
        """The members of the copy of the model that this one serves; a proxy is alone."""
        return next((tuple(copy) for copy in split(self.engines) if member in copy), (member,))

    @property
    def fronts(self) -> tuple[StoredMember, ...]:
        proxies = tuple(member for member in self.members if member.role == "proxy")
        return proxies or tuple(member for member in self.members if member.port is not None)

    def answers_to(self, name: str | None) -> bool:
        """Whether a command line means it: by no name at all, its own name, or eight and more digits of its hash."""
        return name in (None, self.deployment) or (len(name) >= SHORT_HASH and self.hash.startswith(name))

    def named_among(self, others: Iterable["Stored"]) -> str:
        """How a command line names it: by its hash if one of the others has its name, too."""
        alike = any(one.deployment == self.deployment and one.hash != self.hash for one in others)
        digest = self.hash[:SHORT_HASH]
        return shlex.quote(digest if alike and self.answers_to(digest) else self.deployment)

    def outside(self, nodes: Iterable[Node]) -> StoredMember | None:
        """The first member on none of these nodes, by name or address."""
        known = {place for node in nodes for place in (node.name, node.address)}
        return next((member for member in self.members if not {member.name, member.address} & known), None)

    def member(self, node: str, container: str) -> StoredMember | None:
        """The member that this container on this node belongs to."""
        return next((m for m in self.members if m.name == node and self.container(m) == container), None)

    def container(self, member: StoredMember) -> str:
        return container_name(self.deployment, member.role, self.hash)

    def front_of(self, member: StoredMember) -> StoredMember | None:
        """The member whose API shows whether this one is up: itself, or the one of its copy with an API."""
        return next((front for front in (member, *self.copy_of(member)) if front.port is not None), None)
