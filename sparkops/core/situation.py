"""All that checks and phases may know: what is wanted, where, what is there, and how the person wants it done."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from sparkops.core.facts import Container, Facts
from sparkops.core.recipe import Effective
from sparkops.core.revision import SPEC, Member, Revision
from sparkops.core.stored import Stored
from sparkops.core.topology import Placement

Todo = Literal["keep", "start", "restart", "replace", "run"]


@dataclass(frozen=True)
class Choices:
    """How the person wants it done. `stall` and `deadline` bound the wait for a loading engine, in seconds."""

    alongside: bool = False
    refresh: bool = False
    stall: float = 600.0
    deadline: float = 2700.0


@dataclass(frozen=True)
class Situation:
    """Frozen at the start of a stage.

    `facts` holds the nodes that answered; `key_digest` is of the key to be used; `broken` are nodes whose engine of
    this very revision is up but answers nobody.
    """

    revision: Revision
    effective: Effective
    placement: Placement
    facts: Mapping[str, Facts]
    key_digest: str
    choices: Choices = Choices()
    broken: frozenset[str] = frozenset()

    def state_dir(self, node: str) -> str:
        return state_dir(self.facts[node])

    def existing(self, member: Member) -> Container | None:
        """The container of this very revision on the member's node."""
        name = self.revision.container(member)
        return next((c for c in self.facts[member.name].containers if c.name == name and c.ours), None)

    def todo(self, member: Member) -> Todo:
        """What the member's container needs: nothing, a start, or to be made (again)."""
        found = self.existing(member)
        if found is None:
            return "run"
        if found.gave_up or found.state in ("restarting", "dead", "paused") or self._broken(member):
            return "replace"
        if self.choices.refresh and (found.spec or 0) < SPEC:
            return "replace"
        if found.state != "running":
            return "start"
        has_key = member.port is None or self.facts[member.name].key_digest == self.key_digest
        return "keep" if has_key else "restart"

    def _broken(self, member: Member) -> bool:
        """A cluster's parts are replaced together: nobody can tell which rank hangs."""
        together = self.revision.engines if self.revision.topology == "cluster" else (member,)
        return any(other.name in self.broken for other in together)

    @property
    def replaced(self) -> tuple[tuple[str, Stored, Container], ...]:
        """What runs of other revisions where this one goes, parts on other nodes too: (node, revision, container).

        Alongside others only what runs under the same name.
        """
        here = {member.name for member in self.revision.members}
        running = [(node, stored, c) for node, stored, c in deployed(self.facts) if c.runs]
        gone = {
            (stored.deployment, stored.hash)
            for node, stored, _ in running
            if stored.hash != self.revision.hash
            and (not self.choices.alongside or stored.deployment == self.revision.deployment)
            and here & {node, *(member.name for member in stored.members)}
        }
        return tuple(item for item in running if (item[1].deployment, item[1].hash) in gone)


def deployed(facts: Mapping[str, Facts]) -> list[tuple[str, Stored, Container]]:
    """Every container of ours, with what its labels say, in the order of nodes."""
    return [
        (node, Stored(c.deployment or "?", c.hash or "", c.revision or {"schema": c.schema or 0}), c)
        for node, known in facts.items()
        for c in known.containers
        if c.ours
    ]


def state_dir(facts: Facts) -> str:
    """Where sparkops keeps its own files on a node."""
    return f"{facts.home}/.local/state/sparkops"


def key_path(facts: Facts) -> str:
    """One key for all deployments whose front is this node, so that a switch does not lock clients out."""
    return f"{state_dir(facts)}/key"
