"""What a check is: a pure judgement of one node, or of all nodes together, with where it was learnt and how to fix it.

The function below a `Check` is its judge: it yields what it finds, and nothing if the node is fine. If a fact could not
be read, `read` makes the check a `skip` with the reason, never a pass.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, TypeVar

from sparkops.core.facts import Container, Facts, Unread
from sparkops.core.facts.probes import CUT_OFF, NOT_ASKED
from sparkops.core.findings import CheckStatus
from sparkops.core.inventory import Node
from sparkops.core.revision import Member
from sparkops.core.situation import Situation, deployed
from sparkops.core.stored import Stored
from sparkops.core.topology import CLUSTERS, Form

T = TypeVar("T")

CONTAINERS = ("docker-version", "docker-ps", "docker-ours", "docker-strangers", "docker-logs")
LINKS = ("ip-addr", "net", "infiniband", "ibdev2netdev")
"""Probes behind `Facts.containers`, and behind `Facts.interfaces` with their RDMA devices."""

REBOOT = "on the node, when no model serves: sudo reboot"


@dataclass(frozen=True)
class Said:
    """One result of a judge. `hint` replaces the check's own; `evidence` is what was read.

    `nodes` are those that a result for all nodes together is about; empty means all.
    """

    status: CheckStatus
    message: str = ""
    hint: str = ""
    evidence: str = ""
    nodes: tuple[str, ...] = ()


class CannotTell(Exception):
    """What the check needs could not be read, or does not apply here."""


@dataclass(frozen=True)
class Here:
    """One node for a judge. `engine` is the plan's engine on it, None without one."""

    s: Situation
    node: Node
    facts: Facts

    @property
    def name(self) -> str:
        return self.node.name

    @property
    def engine(self) -> Member | None:
        return next((member for member in self.s.revision.engines if member.name == self.name), None)

    @property
    def members(self) -> tuple[Member, ...]:
        return tuple(member for member in self.s.revision.members if member.name == self.name)

    @property
    def going(self) -> list[tuple[Stored, Container]]:
        """Our running containers on this node that the plan replaces or starts again."""
        names = {found.name for node, _, found in self.s.gone if node == self.name}
        names |= {self.s.revision.container(member) for member in self.members}
        found = deployed({self.name: self.facts})
        return [(stored, one) for _, stored, one in found if one.name in names and one.runs]


@dataclass(frozen=True)
class Check:
    """`each` judges a node, `together` all nodes; a check has one of them.

    `severity` is its worst status, `reads` are the probes that it needs (`--only` runs no others).
    `topologies` empty means all; `placed` judges only nodes that take part in the plan. `by_copy` judges the nodes of
    each copy of the model by themselves.
    `deploys`: a deploy runs it too, on the facts that it reads anyway. `fixable`: --fix
    has steps for it (`phases/fix.py`). `final`: the deploy fails for certain, so --allow would not help. `watch` judges
    the facts of a node alone, without a plan: `status` warns of it.
    """

    id: str
    title: str
    why: str
    source: str
    hint: str
    reads: tuple[str, ...]
    severity: Literal["warn", "fail"] = "warn"
    each: Callable[[Here], Iterable[Said]] | None = None
    together: Callable[[Situation], Iterable[Said]] | None = None
    topologies: tuple[Form, ...] = ()
    placed: bool = False
    by_copy: bool = False
    deploys: bool = False
    fixable: bool = False
    final: bool = False
    watch: Callable[[Facts], Iterable[Said]] | None = None

    def each_node(self, judge: Callable[[Here], Iterable[Said]]) -> "Check":
        """The check with the function below it as the judge of a node."""
        return replace(self, each=judge)

    def each_facts(self, judge: Callable[[Facts], Iterable[Said]]) -> "Check":
        """The check with the function below it as the judge of a node by its facts alone."""
        return replace(self, each=lambda here: judge(here.facts), watch=judge)

    def all_nodes(self, judge: Callable[[Situation], Iterable[Said]]) -> "Check":
        """The check with the function below it as the judge of all nodes together."""
        return replace(self, together=judge)


PlanCheck = partial(Check, severity="fail", placed=True, deploys=True)
"""A check of what the plan needs on each of its nodes; it can refuse a deploy."""

FabricCheck = partial(Check, reads=LINKS, topologies=CLUSTERS, placed=True, by_copy=True)
"""A check of a cluster's CX7 links; of each copy by itself."""


fail, warn, skip = partial(Said, "fail"), partial(Said, "warn"), partial(Said, "skip")


def good(message: str = "", evidence: str = "") -> Said:
    """The node is fine; the message or evidence is worth showing."""
    return Said("pass", message, "", evidence)


def read(value: T | Unread, what: str = "") -> T:
    """The value; raises CannotTell if it could not be read, which skips the check."""
    if isinstance(value, Unread):
        raise CannotTell(f"{what}: {value.reason}" if what else value.reason)
    return value


def asked(value: T | Unread) -> T | Unread:
    """The value, or why it could not be read; raises CannotTell if the probe was not asked for or did not run."""
    if isinstance(value, Unread) and value in (NOT_ASKED, CUT_OFF):
        raise CannotTell(value.reason)
    return value


def some(names: Iterable[str], most: int = 4) -> str:
    """The names, or the first few and how many more."""
    listed = list(names)
    if len(listed) <= most:
        return ", ".join(listed)
    return f"{', '.join(listed[: most - 1])} and {len(listed) - most + 1} more"


def apart(groups: Mapping[str, Sequence[str]]) -> str:
    """Each value with the names that have it: all names, but only a few for the most frequent value."""
    most = max(groups.values(), key=len, default=())
    listed = ((value, some(names) if names is most else ", ".join(names)) for value, names in groups.items())
    return "; ".join(f"{value}: {names}" for value, names in listed)
