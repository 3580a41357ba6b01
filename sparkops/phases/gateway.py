"""The endpoint of a fleet as it is and as it is to be: its container and its configuration."""

import hashlib
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property

from sparkops.core.facts import Container, Facts, Left
from sparkops.core.fleet.people import People, written
from sparkops.core.fleet.routes import ModelRoute, Served, routes
from sparkops.core.fleet.written_routes import folder
from sparkops.core.plan import Plan, Secret
from sparkops.core.revision import Member, Revision
from sparkops.core.situation import Choices, state_dir
from sparkops.core.stored import SHORT_HASH, Stored
from sparkops.node_commands import gateway, scripts
from sparkops.phases.parts import DeployedRevision
from sparkops.phases.steps import plan, step
from sparkops.phases.switches import Switches

NEW_KEY = "new"
"""The digest of a key that is still to be made."""

UNKNOWN = f'"key": "{NEW_KEY}"'
"""How that digest stands in routes."""

PEOPLE_TITLE = "write the file of people's keys"


@dataclass(frozen=True)
class Gateway:
    """The endpoint that a fleet is to have; `others` are its earlier ones, with other nodes, ports or images.

    `wanted` are the deployments as the file has them, by name, and `now` those of them that serve, as they were before;
    each with the digest of its key. `names` are further model names, `people` the file with people's keys, which
    follows it to another node. It `hangs` if it runs and does not answer. With `switches` it starts and stops
    deployments on demand; it is `switched` if it can do so with those already.
    """

    revision: Revision
    facts: Facts
    choices: Choices
    wanted: Mapping[str, tuple[Served, str]]
    now: Mapping[str, tuple[Served, str]]
    names: Mapping[str, str]
    others: tuple[DeployedRevision, ...] = ()
    people: str = written(People())
    hangs: bool = False
    switches: Switches | None = None
    switched: bool = True

    @property
    def member(self) -> Member:
        return self.revision.members[0]

    @property
    def name(self) -> str:
        """Its container."""
        return self.revision.container(self.member)

    @property
    def stored(self) -> Stored:
        return Stored(self.revision.deployment, self.revision.hash, self.revision.data)

    @cached_property
    def existing(self) -> Container | None:
        return next((one for one in self.facts.containers if one.name == self.name and one.ours), None)

    @property
    def own(self) -> Container | None:
        """Its container, if that reads the files of this login user."""
        found = self.existing
        return found if found and found.config_folder in (None, self.folder) and not self.hangs else None

    @property
    def runs(self) -> bool:
        return self.own is not None and self.own.state == "running" and not self.own.gave_up

    @property
    def replaces(self) -> bool:
        """Whether its container cannot be started again, and another one comes in its place."""
        return self.existing is not None and not self.runs and not (self.own and self.own.state == "exited")

    @property
    def people_folder(self) -> str:
        return f"{state_dir(self.facts)}/people/{self.revision.deployment}"

    @property
    def folder(self) -> str:
        return f"{state_dir(self.facts)}/gateways/{folder(self.stored)}"

    def routes(self, arrived: Set[str] | None = None) -> tuple[ModelRoute, ...]:
        """The routes once these deployments are at their new places; without names, all."""
        places = {
            name: self.now[name] if arrived is not None and name not in arrived and name in self.now else new
            for name, new in self.wanted.items()
        }
        return routes(places, self.names)

    def config(self, arrived: Set[str] | None = None) -> str:
        return gateway.config(self.routes(arrived))

    @property
    def before(self) -> str | None:
        """The routes that are there."""
        return self.left.gateways.get(folder(self.stored)) if self.left else None

    @property
    def left(self) -> Left | None:
        return self.facts.state if isinstance(self.facts.state, Left) else None

    @property
    def _needed(self) -> dict[str, str]:
        """The digest of the API key of each deployment that has one."""
        return {name: digest for name, (revision, digest) in self.wanted.items() if not revision.without_key}

    @property
    def key_files(self) -> dict[str, str]:
        """The digests of the API keys that it has, by the name of their file."""
        found = self.left.gateway_keys if self.left else {}
        return {name: digest for (where, name), digest in found.items() if where == folder(self.stored)}

    @property
    def missing_keys(self) -> dict[str, str]:
        """The deployments whose API key it lacks, and the name of the file for it."""
        lacking = {name: key for name, key in self._needed.items() if key not in self.key_files.values()}
        made = {name: self.wanted[name][0].hash if key == NEW_KEY else key for name, key in lacking.items()}
        return {name: f"{name}-{told[:SHORT_HASH]}" for name, told in made.items()}

    @property
    def former_keys(self) -> list[str]:
        """The files of API keys that no deployment has once the file is in force."""
        kept = self.missing_keys.values()
        return [name for name, key in self.key_files.items() if key not in self._needed.values() and name not in kept]

    @property
    def routed(self) -> bool:
        """Whether it runs with the routes, keys and deployments on demand of the file."""
        return self.runs and self.before == self.config() and not self.missing_keys and self.switched

    @property
    def in_the_way(self) -> tuple[DeployedRevision, ...]:
        """Those of the others on the port of this one."""
        place = (self.member.name, self.member.port)
        return tuple(one for one in self.others if place in [(node, port) for node, _, port in one.stored.places])


def compile_people(node: str, folder: str, text: str) -> Plan:
    """Write the file of people's keys, which the endpoint follows."""
    write = scripts.write(f"{folder}/keys.json", "600", text)
    return plan("gateway key", {"write the keys": [step(f"gateway-people.{node}", node, PEOPLE_TITLE, write)]})


def texts(one: Gateway, arrivals: Sequence[Set[str]]) -> list[str]:
    """The configuration at first, and after each round: `arrivals` are the deployments at their new places by then."""
    return [one.config(arrived) for arrived in arrivals]


def content(text: str) -> str | Secret:
    """Routes for a plan: their own text, or what stands for it while the digest of a new key is not known."""
    return Secret(f"routes {hashlib.sha256(text.encode()).hexdigest()[:12]}") if UNKNOWN in text else text
