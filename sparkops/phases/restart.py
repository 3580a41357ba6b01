"""Plans that restart what runs, for itself or with a new API key: all at once, or behind a proxy in turns."""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from sparkops.core.endpoints import api_url
from sparkops.core.facts import Facts
from sparkops.core.plan import Action, Plan, Step
from sparkops.core.playbook.values import StepsPlay
from sparkops.core.situation import Choices
from sparkops.core.topology import split
from sparkops.phases import parts
from sparkops.phases.beside import in_the_way
from sparkops.phases.in_turns import numbered
from sparkops.phases.kept import Phases, compile_kept, free_memory
from sparkops.phases.parts import DeployedRevision, NodeContainer
from sparkops.phases.prepare import write_key
from sparkops.phases.steps import step
from sparkops.phases.verify import await_answer, pause


@dataclass(frozen=True)
class Turn:
    """Containers that restart at once; before their start a new key is written on `nodes`."""

    held: tuple[tuple[DeployedRevision, NodeContainer], ...]
    nodes: tuple[str, ...] = ()


def restart_turns(one: DeployedRevision, silent: Container[tuple[str, str]] = ()) -> list[Turn]:
    """The copies behind a proxy one after the other; a proxy that answers goes on.

    `silent` are the nodes and names of containers that do not answer. Servers that do not run come first, then silent
    ones: as long as the proxy asks them, its endpoint may not answer either.
    """
    if one.stored.is_companion or not _replicas(one):
        return [Turn(tuple((one, part) for part in (*one.running, *one.kept)))]
    proxies = [
        (node, it)
        for node, it in (*one.running, *one.kept)
        if it.role == "proxy" and (not it.runs or (node, it.name) in silent)
    ]
    copies = (Turn(tuple((one, part) for part in ranks)) for ranks in _copies(one, silent))
    return [*(Turn(((one, part),)) for part in proxies), *copies]


def rotation_turns(
    restarting: Sequence[DeployedRevision], nodes: Sequence[str], everything: Sequence[DeployedRevision]
) -> list[Turn]:
    """Copy by copy, nodes with a proxy last: so a server always knows the key of the proxy. A stopped copy is first.

    LiteLLM asks another server when one answers 401. A node has one key file, so all that reads it restarts at once,
    with the other nodes of a model that spans some. What was stopped of one that runs starts, too, unless another of
    `everything` that runs is in its place.
    """
    kept = [(one, part) for one in restarting if not in_the_way(one, everything) for part in one.kept]
    held = [*((one, part) for one in restarting for part in one.running), *kept]
    groups = _groups(restarting) or [set(nodes)]
    ordered = _ordered(groups, {node for _, (node, _) in kept}, held)
    ordered[0] |= {*nodes}.difference(*groups)  # where nothing of it runs, only the key is written
    return [
        Turn(tuple(one for one in held if one[1][0] in group), tuple(node for node in nodes if node in group))
        for group in ordered
    ]


def _ordered(
    groups: Iterable[set[str]], stopped: set[str], held: Iterable[tuple[DeployedRevision, NodeContainer]]
) -> list[set[str]]:
    """Those with what is stopped first, those with a proxy after all its servers elsewhere, if that is possible."""
    fronts = [(node, {rank.name for rank in one.stored.engines}) for one, (node, it) in held if it.role == "proxy"]
    ordered, rest = list[set[str]](), sorted(groups, key=lambda group: group.isdisjoint(stopped))
    while rest:
        done = set[str]().union(*ordered)
        ready = (it for it in rest if it & stopped or all(own <= done | it for node, own in fronts if node in it))
        ordered.append(next(ready, rest[0]))
        rest.remove(ordered[-1])
    return ordered


def _groups(restarting: Iterable[DeployedRevision]) -> list[set[str]]:
    """The nodes that must change their key together: those of each copy of a model, with what shares a node."""
    groups: list[set[str]] = []
    for copy in chain.from_iterable(split(one.stored.engines) for one in restarting):
        nodes = {rank.name for rank in copy}
        joined = [group for group in groups if group & nodes]
        groups = [*(group for group in groups if group not in joined), nodes.union(*joined)]
    return groups


def compile_restart(
    play: StepsPlay, facts: Mapping[str, Facts], turns: Sequence[Turn], choices: Choices
) -> tuple[Plan, ...]:
    """A plan for each turn. The undo starts again what a plan stopped, with the key that it had."""
    return tuple(
        _numbered(_plan(play, facts, turn, last=turn is turns[-1], choices=choices), number, len(turns))
        for number, turn in enumerate(turns, 1)
    )


def _plan(play: StepsPlay, facts: Mapping[str, Facts], turn: Turn, *, last: bool, choices: Choices) -> Plan:
    targets = list({one.stored.hash: one for one, _ in turn.held}.values())
    own = {one.stored.hash: [part for other, part in turn.held if other == one] for one in targets}
    servers = [(one, part) for one, part in turn.held if part[1].role != "proxy" and _replicas(one)]

    def starts(*, proxy: bool) -> Iterator[Step]:
        held = (one for one in turn.held if (one[1][1].role == "proxy") is proxy)
        return (parts.start(facts, one.stored, *part) for one, part in held)

    def stops() -> Iterator[Step]:
        servers_first = sorted(turn.held, key=lambda held: held[1][1].role == "proxy")
        return (parts.stop(facts, one.stored, *part, choices) for one, part in servers_first if part[1].runs)

    phases: Phases = {
        "stop what restarts": stops,
        "stop what uses the old key": stops,
        "write the API key": lambda: (write_key(facts[node], node) for node in turn.nodes),
        "free memory": lambda: free_memory(facts, turn.held),
        # The proxy needs no memory, so that its endpoint is away only for seconds.
        "start the proxy": lambda: starts(proxy=True),
        "start with the new key": lambda: starts(proxy=False),
        # The undo of the stop starts it, too: here it goes on to load.
        "start containers": lambda: (replace(one, undo=None) for proxy in (True, False) for one in starts(proxy=proxy)),
        "wait for the engines": lambda: (
            step for one in targets for step in parts.waits(one, own[one.stored.hash], choices)
        ),
        "ask the engines": lambda: _asks(facts, servers, choices),
        "wait for the proxy": lambda: (pause(node) for _, (node, it) in servers if not last and it.role != "worker"),
        "ask the endpoint": lambda: (step for one in targets for step in parts.asks(facts, one.stored, choices)),
    }
    return compile_kept(play, targets, phases)


def _replicas(one: DeployedRevision) -> bool:
    return any(member.role == "proxy" for member in one.stored.members)


def _copies(one: DeployedRevision, silent: Container[tuple[str, str]]) -> list[list[NodeContainer]]:
    """The containers of each copy: first of those that do not run whole, then of those with a silent one."""
    parts = {(node, it.name): (node, it) for node, it in (*one.running, *one.kept)}
    places = [[(rank.name, one.stored.container(rank)) for rank in ranks] for ranks in split(one.stored.engines)]
    copies = [[parts[place] for place in ranks if place in parts] for ranks in places]
    return sorted(
        filter(None, copies),
        key=lambda copy: (
            all(it.state == "running" for _, it in copy),
            not any((node, it.name) in silent for node, it in copy),
        ),
    )


def _asks(
    facts: Mapping[str, Facts], servers: Sequence[tuple[DeployedRevision, NodeContainer]], choices: Choices
) -> Iterator[Step]:
    """A short request to each of these servers with an API."""
    for one, (node, container) in servers:
        member = one.stored.member(node, container.name)
        if member is not None and member.port is not None:
            title = f"ask {one.stored.served} at {api_url(member)}"
            wait = await_answer(parts.question(facts, one.stored, member), choices)
            yield step(f"ask.{node}.{container.name}", node, title, wait)


def _numbered(plan: Plan, number: int, count: int) -> Plan:
    """The plan with names that are unique among those of all turns."""
    if count == 1:
        return plan

    def own(action: Action) -> Action:
        if action.wait is None or action.wait.through is None:
            return action
        return replace(action, wait=replace(action.wait, through=f"{number}.{action.wait.through}"))

    def step(one: Step) -> Step:
        return replace(one, id=f"{number}.{one.id}", do=own(one.do), undo=one.undo and own(one.undo))

    phases = (
        replace(phase, name=numbered(phase.name, number, count), steps=tuple(map(step, phase.steps)))
        for phase in plan.phases
    )
    return replace(plan, phases=tuple(phases))
