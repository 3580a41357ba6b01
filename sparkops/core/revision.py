"""One desired state: what is served, how, by which image, on which nodes in which roles.

Two deploys are equal if their revisions have equal hashes. So a revision holds flags in normal form, and no time, no
path of the control machine, no secret and no version of sparkops. What sparkops adds by itself (entry script, docker
options) is not part of it; its version is `SPEC`.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any, Literal

from sparkops.core.topology import WITHOUT_MODEL, split

SCHEMA = 1
"""Version of the JSON shape below; readers accept every version ever released."""

SPEC = 4
"""Raised whenever containers of equal revisions would be started differently (entry script, docker options)."""


@dataclass(frozen=True)
class RevisionImage:
    """`fingerprint` is over layers, configuration and platform, so it is equal on nodes whose image IDs differ."""

    reference: str
    fingerprint: str


@dataclass(frozen=True)
class FabricLink:
    """A node's side of the CX7 fabric. `devices` are the RDMA devices of both twins.

    In a triangle or ring, no port reaches all other nodes: then `cabling` names it, `address` and `interface` are
    those of the management network, over which the ranks meet, and `devices` and `cabled` are the RDMA devices and
    interfaces of all cables.
    """

    address: str
    interface: str
    twin: str | None = None
    devices: tuple[str, ...] = ()
    cabling: Literal["triangle", "ring"] | None = None
    cabled: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Member:
    """A node and its part. `port` is where its engine (or proxy) listens, None for a rank without an API."""

    name: str
    address: str
    role: str
    rank: int
    port: int | None
    link: FabricLink | None = None
    cache_dir: str | None = None


@dataclass(frozen=True)
class Revision:
    """`without_key`: clients need no API key; else None, as in revisions that know no such choice."""

    deployment: str
    recipe: str
    model: str
    served: str
    kind: str
    topology: str
    executor: str | None
    image: RevisionImage
    args: Mapping[str, Any]
    env: Mapping[str, str]
    mounts: tuple[str, ...]
    members: tuple[Member, ...]
    model_revision: str | None = None
    models: Mapping[str, str] | None = None
    """The commits of further models, such as a draft model, by name; None without one."""

    proxy_image: RevisionImage | None = None
    program: str | None = None
    """What stands in place of `vllm` in the command; None if it is `vllm`."""
    without_key: Literal[True] | None = None
    proxy_metrics: Literal[True] | None = None
    """Whether the proxy counts for Prometheus; else None, as in revisions that know no such choice."""
    schema: int = field(default=SCHEMA)

    @cached_property
    def data(self) -> Mapping[str, Any]:
        """The JSON shape, without fields that are None."""
        shape: Mapping[str, Any] = _set_only(asdict(self))
        return shape

    @cached_property
    def canonical(self) -> str:
        """The JSON that is hashed and kept as a label: sorted and compact."""
        return json.dumps(self.data, sort_keys=True, separators=(",", ":"), ensure_ascii=False)

    @cached_property
    def hash(self) -> str:
        return hashlib.sha256(self.canonical.encode()).hexdigest()

    @property
    def engines(self) -> tuple[Member, ...]:
        return tuple(member for member in self.members if member.role not in WITHOUT_MODEL)

    def copy_of(self, member: Member) -> tuple[Member, ...]:
        """The members of the copy of the model that this one serves, from the one with the API on."""
        return next((tuple(copy) for copy in split(self.engines) if member in copy), (member,))

    @property
    def proxies(self) -> tuple[Member, ...]:
        return tuple(member for member in self.members if member.role == "proxy")

    @property
    def fronts(self) -> tuple[Member, ...]:
        """The members that clients talk to: the proxies, else those with an address."""
        return self.proxies or tuple(member for member in self.members if member.port is not None)

    def container(self, member: Member) -> str:
        return container_name(self.deployment, member.role, self.hash)


GATEWAY = "gateway"
"""The `kind` of the revision of a fleet's endpoint: a proxy alone, whose servers are those of other deployments."""

PAGE = "page"
"""The `kind` of the revision of a page for people beside a fleet's endpoint, and the role of its only member."""

LONGEST_NAME = 120
"""Characters of a deployment's name: files on the nodes have it, with more, in names of at most 255 bytes."""


def container_name(deployment: str, role: str, digest: str) -> str:
    return f"sparkops-{deployment}-{role}-{digest[:8]}"


def deployment_name(text: str) -> str:
    """A recipe's name as Docker accepts it in the name of a container, short enough for a file on a node."""
    return re.sub(r"[^a-z0-9_.]+", "-", text.lower())[:LONGEST_NAME].strip("-.") or "deployment"


def differences(old: Mapping[str, Any], new: Mapping[str, Any], path: str = "") -> tuple[str, ...]:
    """What changed between two revisions' JSON, one line a key: `args.max-model-len 4096 -> 32768`."""
    lines: list[str] = []
    for key in sorted({*old, *new}):
        before, after = old.get(key), new.get(key)
        where = f"{path}{key}"
        if before == after:
            continue
        if isinstance(before, Mapping) and isinstance(after, Mapping):
            lines += differences(before, after, f"{where}.")
        else:
            lines.append(f"{where} {short(before)} -> {short(after)}")
    return tuple(lines)


def short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    if value is None:
        text = "unset"
    return text if len(text) <= 60 else f"{text[:57]}..."


def _set_only(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _set_only(item) for key, item in value.items() if item is not None}
    if isinstance(value, list | tuple):
        return [_set_only(item) for item in value]
    return value
