"""The plan that makes a fleet what its file says: one plan, and one undo, over all its deployments."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from sparkops.core.facts import Facts
from sparkops.core.facts.reading import grouped
from sparkops.core.plan import Action, Phase, Plan, Step, Wait
from sparkops.core.situation import Choices, Situation, state_dir
from sparkops.node_commands import scripts
from sparkops.phases import PHASES, companion, pages, parts, routing
from sparkops.phases.companion import Companion
from sparkops.phases.gateway import Gateway
from sparkops.phases.in_turns import OF_A_TURN, numbered
from sparkops.phases.orphans import compile_orphans, leave_notes
from sparkops.phases.pages import FleetPage
from sparkops.phases.parts import DeployedRevision
from sparkops.phases.prepare import API_KEY, secret_of
from sparkops.phases.rounds import Round, Rounds, settled
from sparkops.phases.sleeping import sleeps
from sparkops.phases.steps import filled, step

STOP, *START = OF_A_TURN


@dataclass(frozen=True)
class FleetPlan:
    """What `apply` does. If a step of `change` fails, all of it is undone; `rest` goes on with what can still be done.

    So the end of what nobody wants any more, on a node that just went away, undoes nothing that serves.
    """

    change: Plan
    rest: Plan

    @property
    def whole(self) -> Plan:
        """Both as one, for its id and for what is shown."""
        return replace(self.change, phases=(*self.change.phases, *self.rest.phases))


@dataclass(frozen=True)
class Endpoint:
    """The endpoint that the fleet is to have, if any, with its pages; and those of both that end."""

    wanted: Gateway | None = None
    ends: tuple[DeployedRevision, ...] = ()
    pages: tuple[FleetPage, ...] = ()
    page_ends: tuple[DeployedRevision, ...] = ()

    @property
    def companions(self) -> tuple[Companion, ...]:
        """All that the fleet is to have beside its deployments."""
        return (*filter(None, [self.wanted]), *self.pages)

    @property
    def names(self) -> list[str]:
        """Everything of it, by name."""
        ends = (one.stored.deployment for one in (*self.ends, *self.page_ends))
        return [*(one.revision.deployment for one in self.companions), *ends]

    @property
    def changing(self) -> dict[str, list[str]]:
        """What of it changes, by name, with the hashes of what that replaces."""
        ends = grouped((one.stored.deployment, one.stored.hash) for one in (*self.ends, *self.page_ends))
        routed = [self.wanted.revision.deployment] if self.wanted and not self.wanted.routed else []
        starts = [one.revision.deployment for one in self.pages if not one.runs]
        return {name: ends.get(name, []) for name in (*ends, *routed, *starts)}


def compile_fleet(
    situations: Sequence[Situation],
    order: Rounds,
    facts: Mapping[str, Facts],
    addresses: Mapping[str, str],
    endpoint: Endpoint,
) -> FleetPlan:
    """The plan for all deployments (`situations`) in this order; `addresses` are those of all nodes, by name.

    What can fail without harm to what serves comes first. What serves already is only asked, at last. Clients of the
    endpoint are routed to what serves after each round.
    """
    kept, changing = ([one for one in situations if settled(one) is it] for it in (True, False))
    kept = [one for one in kept if not one.choices.on_demand]
    always = {one.revision.deployment for one in situations if not one.choices.on_demand}
    ends, choices = (*order.first, *order.last), situations[0].choices
    phases: dict[str, Iterable[Step]] = {
        name: _all(name, changing) for name in ("make directories", "write the proxy's configuration")
    }
    front, moves = endpoint.wanted, arrivals(situations, order)
    changes = bool(front and (changing or not front.routed))
    phases["write the keys of pages"] = pages.keys(endpoint.pages)
    phases["start the fleet's endpoint"] = routing.start(front, facts, moves[0]) if front and changes else ()
    phases["start the pages"] = pages.start(endpoint.pages, facts)
    routed = [*routing.route(front, moves)] if front else [[] for _ in moves]
    phases |= _in_rounds(order, sleeps(situations, order, facts), routed, facts, choices)
    phases["ask the endpoint"] = _all("ask the endpoint", changing)
    phases["let the endpoint start what is on demand"] = routing.switch(front, facts) if front else ()
    phases["route all clients"] = routed[-1]
    phases["ask the fleet's endpoint"] = routing.ask(front, facts, always & moves[-1] - moves[0]) if front else ()
    away = [note for one in ends for note in leave_notes(facts, one.stored)]
    phases["note what is out of reach"] = [*_all("note what is out of reach", changing), *away]
    names = {one.revision.deployment for one in situations}
    moved = [one for one in ends if one.stored.deployment in names]
    rest: dict[str, Iterable[Step]] = {
        "stop what the fleet no longer has": _ended(order.last, facts, choices),
        "end earlier endpoints": routing.end(front, endpoint.ends, facts),
        "end earlier pages": pages.end(endpoint.pages, endpoint.page_ends, facts),
        "settle": [*_all("settle", changing), *_removed(moved, facts)],
        **{f"{name} that stay": _all(name, kept) for name in ("wait for the engines", "ask the engines")},
        "ask the endpoints that stay": _all("ask the endpoint", kept),
        "wait for the fleet's endpoint": companion.load(front) if front and not changes else (),
        "wait for the pages": [one for page in endpoint.pages if page.runs for one in companion.load(page)],
        "ask the fleet's endpoint": routing.ask(front, facts, always & moves[0]) if front else (),
    }
    whole = (*compile_orphans(facts, addresses, _containers(situations, endpoint)), *filled(phases))
    change = Plan("apply", None, _once(whole), replaces=_replaced(situations, ends))
    return FleetPlan(change, Plan("apply", None, _once(filled(rest)), on_failure="go-on"))


def _containers(situations: Iterable[Situation], endpoint: Endpoint) -> set[tuple[str, str]]:
    """The containers that the fleet is to have, each with its node."""
    beside = ((one.member.name, one.name) for one in endpoint.companions)
    revisions = (one.revision for one in situations)
    return {*beside, *((member.name, it.container(member)) for it in revisions for member in it.members)}


def _replaced(situations: Iterable[Situation], ends: Iterable[DeployedRevision]) -> str | None:
    """What the plan replaces, in words."""
    gone = (f"{stored.deployment} {stored.hash[:8]}" for s in situations for _, stored, _ in s.replaced)
    return ", ".join(sorted({*gone, *(one.title for one in ends)})) or None


def arrivals(situations: Sequence[Situation], order: Rounds) -> list[frozenset[str]]:
    """The deployments that are where they are to be: at first, after each round, and at last all of them."""
    starts = [frozenset(one.revision.deployment for one in turn.starts) for turn in order.rounds]
    first = frozenset(one.revision.deployment for one in situations if settled(one))
    found = accumulate((first, *starts), lambda before, new: before | new)
    return [*found, frozenset(one.revision.deployment for one in situations)]


def _in_rounds(
    order: Rounds,
    asleep: Sequence[list[Step]],
    routed: Sequence[list[Step]],
    facts: Mapping[str, Facts],
    choices: Choices,
) -> dict[str, list[Step]]:
    """The phases of each round, with what goes to sleep before it and the steps that route clients after it."""
    found, count = dict[str, list[Step]](), len(order.rounds)
    for number, (turn, first, then) in enumerate(zip(order.rounds, asleep, routed, strict=False), 1):
        parts_of_it = _round(turn, facts, choices)
        named = {**parts_of_it, STOP: [*first, *parts_of_it[STOP]], "route the clients": then}
        found |= {numbered(name, number, count) if count > 1 else name: steps for name, steps in named.items()}
    return found


def _round(one: Round, facts: Mapping[str, Facts], choices: Choices) -> dict[str, list[Step]]:
    stops = [*_ended(one.ends, facts, choices), *_all(STOP, one.stops)]
    return {STOP: stops, **{name: _all(name, one.starts) for name in START}}


def _all(phase: str, situations: Iterable[Situation]) -> list[Step]:
    return [_owned(one, s.revision.deployment) for s in situations for one in PHASES[phase](s)]


def _ended(ends: Iterable[DeployedRevision], facts: Mapping[str, Facts], choices: Choices) -> list[Step]:
    # Servers first, as in `serve.quiesce`.
    return [
        parts.stop(facts, one.stored, node, container, choices)
        for one in ends
        for node, container in sorted(one.running, key=lambda part: part[1].role == "proxy")
    ]


def _removed(moved: Iterable[DeployedRevision], facts: Mapping[str, Facts]) -> Iterator[Step]:
    """What is left of deployments where they were before; what the file no longer has at all is kept for `start`."""
    for one in moved:
        for node, container in one.running:
            remove = scripts.container("remove", container.name, one.stored.deployment, state_dir(facts[node]))
            yield step(f"settle.{node}.{container.name}", node, f"remove {container.name}", remove)


def _owned(one: Step, deployment: str) -> Step:
    """The step with the deployment in its id, as several may have a step of one kind on a node; and with its key."""
    undo = one.undo and _action(one.undo, deployment)
    return replace(one, id=f"{one.id}/{deployment}", do=_action(one.do, deployment), undo=undo)


def _action(action: Action, deployment: str) -> Action:
    command = action.command
    if command and command.stdin == API_KEY:
        command = replace(command, stdin=secret_of(deployment))
    return replace(action, command=command, wait=_wait(action.wait, deployment))


def _wait(wait: Wait | None, deployment: str) -> Wait | None:
    return replace(wait, through=f"{wait.through}/{deployment}") if wait and wait.through else wait


def _once(phases: Iterable[Phase]) -> tuple[Phase, ...]:
    """Each phase without steps that another one of its steps does already, such as the removal of a container."""
    return tuple(replace(phase, steps=tuple(_different(phase.steps))) for phase in phases)


def _different(steps: Iterable[Step]) -> Iterator[Step]:
    seen: list[tuple[str, Action]] = []
    for one in steps:
        if one.do.wait or (one.node, one.do) not in seen:
            seen.append((one.node, one.do))
            yield one
