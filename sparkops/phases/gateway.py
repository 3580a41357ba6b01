"""The endpoint of a fleet as it is and as it is to be: its container and its configuration."""

import hashlib
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace

from sparkops.core.facts import Container
from sparkops.core.fleet.people import People, read, written
from sparkops.core.fleet.routes import ModelRoute, Served, routes
from sparkops.core.fleet.written_routes import folder
from sparkops.core.plan import Plan, Secret
from sparkops.core.situation import state_dir
from sparkops.core.stored import SHORT_HASH
from sparkops.node_commands import gateway, scripts
from sparkops.phases.companion import Companion
from sparkops.phases.steps import plan, step
from sparkops.phases.switches import Switches

NEW_KEY = "new"
"""The digest of a key that is still to be made."""

UNKNOWN = f'"key": "{NEW_KEY}"'
"""How that digest stands in routes."""

PEOPLE_TITLE = "write the file of people's keys"


@dataclass(frozen=True, kw_only=True)
class Gateway(Companion):
    """The endpoint that a fleet is to have.

    `wanted` are the deployments as the file has them, by name, and `now` those of them that serve, as they were before;
    each with the digest of its key. `names` are further model names, `people` the file with people's keys, which
    follows it to another node. With `switches` it starts and stops deployments on demand; it is `switched` if it can do
    so with those already.
    """

    wanted: Mapping[str, tuple[Served, str]]
    now: Mapping[str, tuple[Served, str]]
    names: Mapping[str, str]
    people: str = written(People())
    switches: Switches | None = None
    switched: bool = True

    @property
    def own(self) -> Container | None:
        """Its container, if that reads the files of this login user."""
        found = super().own
        return found if found and found.config_folder in (None, self.folder) else None

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
        same = self.before == self.config() and not self.new_people
        return self.runs and same and not self.missing_keys and self.switched

    @property
    def people_before(self) -> str | None:
        """The file with people's keys that is there."""
        return self.left.people.get(self.revision.deployment) if self.left else None

    @property
    def new_people(self) -> bool:
        """Whether that file is to be another."""
        return self.left is not None and self.people_before != self.people


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


def people_content(text: str) -> Secret:
    """What stands for the file of people's keys in a plan: it names their digests and limits, and no time."""
    try:
        told = repr([(name, replace(key, added="")) for name, key in sorted(read(text).keys.items())])
    except ValueError:
        told = text
    return Secret(f"people's keys {hashlib.sha256(told.encode()).hexdigest()[:12]}")


def unknown_page(name: str) -> str:
    """What stands for the digest of a page's key that is still to be made."""
    return f"{NEW_KEY} key of {name}"
