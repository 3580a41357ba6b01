"""Where the endpoint of a fleet has its files, and what is in them."""

from collections.abc import Mapping
from dataclasses import dataclass

from sparkops.core.facts import Facts
from sparkops.core.fleet.people import People, read, written
from sparkops.core.situation import state_dir
from sparkops.errors import Refused, UsageError
from sparkops.node_commands import scripts
from sparkops.phases.parts import DeployedRevision
from sparkops.session.find_gateway import gateways_on, people_on, routed_by
from sparkops.session.session import Session


@dataclass(frozen=True)
class GatewayPlace:
    """An endpoint as its node has it; `text` is the file of people's keys, `models` the names that it routes.

    `facts` are those of its node.
    """

    found: DeployedRevision
    node: str
    folder: str
    text: str
    models: tuple[str, ...]
    facts: Facts

    @property
    def name(self) -> str:
        return self.found.stored.deployment

    @property
    def people(self) -> People:
        """The keys in force; raises Refused."""
        try:
            return read(self.text)
        except ValueError as error:
            told = f"{self.folder}/keys.json on {self.node} cannot be read: {error}"
            raise Refused(
                f"{told}; until it starts anew, the endpoint goes on with the keys that it had",
                node=self.node,
                hint="put a good version of the file back, or remove it: then nobody has a key",
            ) from error


def place_of(session: Session, name: str | None) -> GatewayPlace:
    """The endpoint that a command line means; raises UsageError or Refused if there is none that can have keys."""
    facts = session.what_runs()
    found = gateway_named(session, facts, name)
    node = found.stored.members[0].name
    session.require([node])
    folder = f"{state_dir(facts[node])}/people/{found.stored.deployment}"
    _require_ours(found, facts[node])
    text = people_on(facts, node, found.stored.deployment) or written(People())
    return GatewayPlace(found, node, folder, text, tuple(routed_by(found.stored, facts)), facts[node])


def gateway_named(session: Session, facts: Mapping[str, Facts], name: str | None) -> DeployedRevision:
    """The endpoint of this name, or the only one; raises UsageError or Refused."""
    here = gateways_on(facts, session.names)
    named = [one for one in here if name is None or one.stored.answers_to(name)]
    if not here:
        hint = "give the fleet's file an `endpoint`, then `sparkops apply`"
        raise Refused("no fleet has an endpoint on these nodes", hint=hint)
    if len({one.stored.deployment for one in named}) != 1:
        known = ", ".join(sorted({one.stored.deployment for one in here}))
        told = f"there is no endpoint {name}" if name else "there are several endpoints: say which, with --gateway"
        raise UsageError(told, hint=f"those here: {known}")
    return max(named, key=lambda one: one.runs)


def _require_ours(found: DeployedRevision, facts: Facts) -> None:
    """Raise Refused for an endpoint that reads no file of this login user."""
    if "program" not in found.stored.data.get("args", {}):
        told = f"{found.title} is of an earlier release, which knows no keys of people"
        raise Refused(told, hint="replace it: `sparkops apply`")
    folders = (container.config_folder for _, container in found.parts)
    if any(one and not one.startswith(f"{state_dir(facts)}/") for one in folders):
        told = f"{found.title} reads the files of another login user"
        raise Refused(told, hint="set `user:` in the inventory to the user who started it")


def text_of_usage(session: Session, place: GatewayPlace) -> str:
    """The file of what was used; empty if nothing was yet, which is when it is not there."""
    return session.one(place.node, scripts.read_usage(f"{place.folder}/usage.json"), "read what people used")
