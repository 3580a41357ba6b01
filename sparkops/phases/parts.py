"""Revisions on the nodes, known from labels, and steps that act on their containers."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sparkops.core.endpoints import api_url, health_path
from sparkops.core.facts import Container, Facts, Unread
from sparkops.core.plan import Action, Step, Undoing
from sparkops.core.revision import Member
from sparkops.core.situation import Choices, companions, deployed, key_path, reads_home_key, state_dir
from sparkops.core.stored import Stored, StoredMember
from sparkops.node_commands import scripts
from sparkops.phases.steps import step
from sparkops.phases.verify import await_answer, await_stored, load_id, proof

NodeContainer = tuple[str, Container]
"""A node and a container on it."""


@dataclass(frozen=True)
class DeployedRevision:
    """A revision on the nodes, with its containers."""

    stored: Stored
    parts: tuple[NodeContainer, ...]

    @property
    def runs(self) -> bool:
        return bool(self.running)

    @property
    def running(self) -> tuple[NodeContainer, ...]:
        return tuple((node, container) for node, container in self.parts if container.runs)

    @property
    def kept(self) -> tuple[NodeContainer, ...]:
        """Containers that were stopped and can be started again."""
        return tuple((node, container) for node, container in self.parts if container.kept)

    @property
    def missing(self) -> tuple[StoredMember, ...]:
        """Members without a container that has run, so that nothing can be started again."""
        have = {(node, container.name) for node, container in (*self.running, *self.kept)}
        return tuple(m for m in self.stored.members if (m.name, self.stored.container(m)) not in have)

    @property
    def complete(self) -> bool:
        return not self.missing

    @property
    def ended(self) -> str:
        return max(container.finished_at for _, container in self.parts)

    @property
    def served_until(self) -> str:
        """When the first container that can start again ended: one that outlived the others served nobody.

        Empty if it runs and nothing of it is kept.
        """
        kept = (container.finished_at for _, container in self.kept)
        return min(kept, default="" if self.runs else self.ended)

    @property
    def replaced(self) -> frozenset[str]:
        """Hashes of all that its deploy replaced."""
        return frozenset(digest for _, container in self.parts for digest in container.replaced)

    @property
    def nodes(self) -> set[str]:
        """The nodes of its members, and those on which it was found by their names here."""
        return {member.name for member in self.stored.members} | {node for node, _ in self.parts}

    @property
    def title(self) -> str:
        return f"{self.stored.deployment} {self.stored.hash[:8]}"


def deployed_revisions(facts: Mapping[str, Facts]) -> tuple[DeployedRevision, ...]:
    """All revisions of deployments on the nodes, running or stopped, in the order of nodes."""
    return _grouped(deployed(facts))


def deployed_companions(facts: Mapping[str, Facts]) -> tuple[DeployedRevision, ...]:
    """The endpoints and pages of fleets on the nodes, running or stopped."""
    return _grouped(companions(facts))


def all_revisions(facts: Mapping[str, Facts]) -> tuple[DeployedRevision, ...]:
    """Those of deployments, then the endpoints and pages of fleets."""
    return (*deployed_revisions(facts), *deployed_companions(facts))


def _grouped(containers: Iterable[tuple[str, Stored, Container]]) -> tuple[DeployedRevision, ...]:
    found: dict[tuple[str, str], tuple[Stored, list[tuple[str, Container]]]] = {}
    for node, stored, container in containers:
        _, parts = found.setdefault((stored.deployment, stored.hash), (stored, []))
        parts.append((node, container))
    return tuple(DeployedRevision(stored, tuple(parts)) for stored, parts in found.values())


def cut_off(stored: Stored, facts: Mapping[str, Facts]) -> dict[str, str]:
    """Why a CX7 link of a node cannot carry its cluster, by node."""
    read = [one for one in stored.members if one.name in facts and not isinstance(facts[one.name].ip_addr, Unread)]
    found = {one.name: facts[one.name].find_link(one.fabric) for one in read if one.fabric}
    why = {node: link.reason for node, link in found.items() if isinstance(link, Unread)}
    up = {one.name: {it.name for it in facts[one.name].interfaces if it.up} for one in read}
    dark = {one.name: [name for name in one.cabled if name not in up[one.name]] for one in read}
    return why | {node: f"{', '.join(names)} without link" for node, names in dark.items() if names}


def unlike_keys(one: DeployedRevision, facts: Mapping[str, Facts]) -> list[str]:
    """The nodes of servers behind a proxy, if not all read one API key: the proxy gets no answer from some of them."""
    if not any(member.role == "proxy" for member in one.stored.members):
        return []
    held = {node: facts[node].key_digest for node, it in one.parts if reads_home_key(facts[node], it)}
    return list(held) if len(set(held.values())) > 1 else []


def stop(facts: Mapping[str, Facts], stored: Stored, node: str, container: Container, choices: Choices) -> Step:
    """Stop a container; the undo starts it again and waits until it serves."""
    owner = (container.name, stored.deployment, state_dir(facts[node]))
    end, begin = scripts.container("stop", *owner, drain=stored.drain), scripts.container("start", *owner)
    member = stored.member(node, container.name)
    answers = proof(member, question(facts, stored, member)) if member else None
    ranks = stored.copy_of(member) if member else ()
    undo = Action(begin, await_stored(stored, node, container.name, choices), answers, together(ranks))
    told = comes_back(container.name, undo)
    return step(f"stop.{node}.{container.name}", node, f"stop {container.name}", end, undo, told)


def together(ranks: Sequence[StoredMember | Member]) -> tuple[str, ...]:
    """The nodes without which this copy of the model does not answer, if it spans several."""
    return tuple(one.name for one in ranks) if len(ranks) > 1 else ()


def comes_back(container: str, undo: Action) -> Undoing:
    """How the undo of its stop is told."""
    return Undoing(f"starting {container} again", f"{container} {'serves' if undo.wait else 'runs'} again")


def start(facts: Mapping[str, Facts], stored: Stored, node: str, container: Container) -> Step:
    owner = (container.name, stored.deployment, state_dir(facts[node]))
    begin, undo = scripts.container("start", *owner), scripts.container("stop", *owner)
    stopped = Undoing(done=f"stopped {container.name}")
    return step(f"start.{node}.{container.name}", node, f"start {container.name}", begin, undo, stopped)


def waits(target: DeployedRevision, started: Iterable[NodeContainer], choices: Choices) -> Iterator[Step]:
    """A wait for each started container whose labels name its API or its head's; for proxies after their servers."""
    for node, container in sorted(started, key=lambda part: part[1].role == "proxy"):
        wait = await_stored(target.stored, node, container.name, choices)
        if wait is not None:
            yield step(load_id(node, container.name), node, f"wait for {container.name}", wait)


def asks(facts: Mapping[str, Facts], stored: Stored, choices: Choices) -> Iterator[Step]:
    """A short request to every API that clients use."""
    for front in stored.fronts:
        wait = await_answer(question(facts, stored, front), choices)
        title = f"ask {stored.served or stored.deployment} at {api_url(front)}"
        yield step(f"ask.{front.name}.{stored.container(front)}", front.name, title, wait)


def question(facts: Mapping[str, Facts], stored: Stored, member: StoredMember) -> scripts.Question:
    """The question to the API of a stored revision's member; restarts that the facts already show do not count."""
    name = stored.container(member)
    restarts = next((c.restarts or 0 for c in facts[member.name].containers if c.name == name and c.runs), 0)
    return scripts.Question(
        api=api_url(member),
        health=health_path(member.role),
        model=stored.served,
        kind=stored.kind,
        key="" if stored.is_companion else key_path(facts[member.name]),  # which is no business of theirs
        container=name,
        restarts=restarts,
        executor=stored.executor if member.role == "head" else None,
        joined=len(stored.copy_of(member)),
    )
