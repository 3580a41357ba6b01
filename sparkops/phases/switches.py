"""What lets a fleet's endpoint start and stop deployments on demand: a key, what it knows of them, and open nodes."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sparkops.core.facts import Facts, Left
from sparkops.core.facts.access import Admitted
from sparkops.core.plan import Secret, Step
from sparkops.core.situation import state_dir
from sparkops.node_commands import ondemand, scripts
from sparkops.phases.steps import QUIETLY, step

PUBLIC, PRIVATE = Secret("on-demand-public-key"), Secret("on-demand-key")
FOLDER, CONFIG, KNOWN, KEY, SHOWN = "ondemand", "on-demand.json", "known", "key", "key.pub"


@dataclass(frozen=True)
class SwitchedNode:
    """A node that is open to the endpoint, for `containers` of deployments; it sees it at one of `origins`."""

    name: str
    origins: tuple[str, ...]
    containers: Mapping[str, str]
    cache_dir: str | None


@dataclass(frozen=True)
class Switches:
    """For the endpoint called `gateway`, on the node that holds its files in `folder`.

    `config` are the deployments on demand, `known` the nodes' host keys, and `program` what the key runs there.
    """

    gateway: str
    folder: str
    config: Mapping[str, Any]
    known: str
    program: str
    nodes: tuple[SwitchedNode, ...]

    def text(self, facts: Facts) -> str:
        """The content of its file; what is there if only memory differs, which is measured anew each time."""
        there = self.files(facts).get(CONFIG, "")
        return there if _alike(there, self.config) else json.dumps(self.config, indent=1)

    def files(self, facts: Facts) -> dict[str, str]:
        found = facts.state.on_demand if isinstance(facts.state, Left) else {}
        where = self.folder.rpartition("/")[2]
        return {name: text for (folder, name), text in found.items() if folder == where}

    def public(self, facts: Facts) -> str | None:
        """The key that the endpoint has."""
        return self.files(facts).get(SHOWN)

    def closed(self, facts: Mapping[str, Facts], public: str | None) -> list[SwitchedNode]:
        """The nodes that are not open as they should be: all, if the endpoint has no key yet."""
        if public is None:
            return [*self.nodes]
        return [one for one in self.nodes if door_of(facts[one.name], self.gateway) != self._door(one, public)]

    def _door(self, one: SwitchedNode, public: str) -> Admitted:
        line = ondemand.line(self.gateway, one.origins, public)
        text = f"{self.program}{one.cache_dir or ''}"
        return Admitted(line, hashlib.sha256(text.encode()).hexdigest(), one.containers)


def door_of(facts: Facts, gateway: str) -> Admitted | None:
    return facts.state.admitted.get(gateway) if isinstance(facts.state, Left) else None


def let_in(one: Switches, node: str, facts: Mapping[str, Facts]) -> Iterator[Step]:
    """Open the nodes, and give the endpoint on `node` its key and what it needs to know."""
    here, has = facts[node], one.files(facts[node])
    public = one.public(here)
    for door in one.closed(facts, public):
        state, before = state_dir(facts[door.name]), door_of(facts[door.name], one.gateway)
        about = state, one.gateway, door.origins, public or PUBLIC
        undo = ondemand.close(state, one.gateway)
        if before and (earlier := ondemand.parsed(before.line)):
            undo = ondemand.open_to(state, one.gateway, *earlier, before.containers, door.cache_dir)
        title = "let the endpoint start and stop what is on demand"
        opened = ondemand.open_to(*about, door.containers, door.cache_dir)
        yield step(f"on-demand.{door.name}", door.name, title, opened, undo, QUIETLY)
    wanted: dict[str, str | Secret] = {} if public else {KEY: PRIVATE, SHOWN: PUBLIC}
    wanted |= {KNOWN: one.known, CONFIG: one.text(here)}
    for name, text in wanted.items():
        if has.get(name) != text:
            path = f"{one.folder}/{FOLDER}/{name}"
            undo = scripts.write(path, "600", has[name]) if name in has else scripts.remove_file(path)
            title = f"write the endpoint's {name}"
            yield step(f"on-demand.{node}.{name}", node, title, scripts.write(path, "600", text), undo, QUIETLY)


def shut(gateway: str, kept: Switches | None, facts: Mapping[str, Facts]) -> Iterator[Step]:
    """Close nodes on which the endpoint has nothing to do any more."""
    open_ = {one.name for one in kept.nodes} if kept else set()
    for node, known in facts.items():
        if node not in open_ and door_of(known, gateway):
            close = ondemand.close(state_dir(known), gateway)
            yield step(f"close.{node}", node, "take the endpoint's key away", close)


MEMORY = ("kib", "needs", "requests")
"""Keys of what is measured anew each time."""


def _alike(text: str, config: Mapping[str, Any]) -> bool:
    try:
        return bool(_without_memory(json.loads(text)) == _without_memory(config))
    except (ValueError, RecursionError):
        return False


def _without_memory(found: Any) -> Any:
    if isinstance(found, Mapping):
        return {key: _without_memory(it) for key, it in found.items() if key not in MEMORY}
    return [_without_memory(it) for it in found] if isinstance(found, list | tuple) else found
