"""In which order a fleet's deployments are replaced, so that as little as possible stops, and that late."""

from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import dataclass
from itertools import zip_longest
from typing import TypeVar

from sparkops.core.situation import Situation
from sparkops.core.turns import turns
from sparkops.phases.parts import DeployedRevision

T = TypeVar("T")


@dataclass(frozen=True)
class Round:
    """First the `ends` and what the `stops` replace are stopped, then the `starts` start together and must answer."""

    starts: tuple[Situation, ...]
    stops: tuple[Situation, ...] = ()
    ends: tuple[DeployedRevision, ...] = ()


@dataclass(frozen=True)
class Rounds:
    """The rounds in their order; `first` is what ends in one of them, `last` what ends once all of them serve."""

    rounds: tuple[Round, ...]
    first: tuple[DeployedRevision, ...]
    last: tuple[DeployedRevision, ...]


def serves(s: Situation) -> bool:
    """Whether all of it runs and nothing makes way for it."""
    return not s.replaced and all(s.todo(member) == "keep" for member in s.revision.members)


def settled(s: Situation) -> bool:
    """Whether nothing is to do: it serves, or it is on demand and could start as it is."""
    could = s.choices.on_demand and not s.replaced
    return serves(s) or (could and all(s.todo(member) in ("keep", "start") for member in s.revision.members))


def in_rounds(situations: Sequence[Situation], ends: Sequence[DeployedRevision]) -> Rounds:
    """What stops and starts when.

    What needs no room of others starts first, beside all that serves. Then all stops whose room is needed. Those on one
    node start one after the other, because an engine measures at its start how much memory is free. At last, copies
    behind a proxy are replaced one after the other.
    """
    changing = [one for one in situations if not settled(one)]
    stopping = {node for one in ends for node, _ in one.running} | {node for one in changing for node in _stops(one)}
    beside = [one for one in changing if not _stops(one) and _nodes(one).isdisjoint(stopping)]
    others = [one for one in changing if one not in beside]
    rolling = [one for one in others if len(turns(one)) > 1 and _alone(one, changing, ends)]
    together = [one for one in others if one not in rolling]
    needed = [one for one in ends if any({node for node, _ in one.running} & _nodes(it) for it in together)]
    found = [Round(wave) for wave in waves(beside, _nodes)]
    for number, wave in enumerate(waves(together, _nodes)):
        found.append(Round(wave) if number else Round(wave, tuple(together), tuple(needed)))
    for turn in zip_longest(*map(turns, rolling)):
        each = tuple(one for one in turn if one is not None)
        found.append(Round(each, each))
    return Rounds(tuple(found), tuple(needed), tuple(one for one in ends if one not in needed))


def waves(deployments: Iterable[T], nodes: Callable[[T], Set[str]]) -> list[tuple[T, ...]]:
    """Those without a node in common start together, the others one after the other, in their order."""
    found: list[list[T]] = []
    for one in deployments:
        shared = [at for at, wave in enumerate(found) if any(nodes(one) & nodes(other) for other in wave)]
        at = max(shared, default=-1) + 1
        found[at:] = [[*found[at], one], *found[at + 1 :]] if at < len(found) else [[one]]
    return list(map(tuple, found))


def _nodes(s: Situation) -> set[str]:
    return {member.name for member in s.revision.members}


def _stops(s: Situation) -> set[str]:
    """The nodes on which something stops for it."""
    again = {member.name for member in s.revision.members if s.todo(member) in ("restart", "replace")}
    return again | {node for node, _, _ in s.replaced}


def _alone(s: Situation, changing: Iterable[Situation], ends: Iterable[DeployedRevision]) -> bool:
    """Whether nothing else of the fleet changes on its nodes: the room for that may be there only afterwards."""
    here = _nodes(s) | _stops(s)
    others = [_nodes(one) | _stops(one) for one in changing if one is not s]
    return all(here.isdisjoint(nodes) for nodes in (*others, *({node for node, _ in one.parts} for one in ends)))
