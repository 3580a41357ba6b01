"""Deployments on demand in the plan of a fleet. Each starts once and is asked; then it sleeps, so that the next can."""

from collections.abc import Iterator, Mapping, Sequence

from sparkops.core.facts import Facts
from sparkops.core.plan import Step
from sparkops.core.situation import Situation, state_dir
from sparkops.node_commands import scripts
from sparkops.phases import parts
from sparkops.phases.parts import deployed_revisions
from sparkops.phases.rounds import Rounds, serves
from sparkops.phases.steps import step


def sleeps(situations: Sequence[Situation], order: Rounds, facts: Mapping[str, Facts]) -> list[list[Step]]:
    """For each round, the stops of all on demand that are awake on the nodes where it starts something."""
    awake = [one for one in situations if one.choices.on_demand and serves(one)]
    found = list[list[Step]]()
    for turn in order.rounds:
        nodes = {member.name for one in turn.starts for member in one.revision.members}
        rest = [one for one in awake if nodes.isdisjoint(member.name for member in one.revision.members)]
        found.append([each for one in awake if one not in rest for each in _sleep(one, facts)])
        awake = [*rest, *(one for one in turn.starts if one.choices.on_demand)]
    return found


def _sleep(s: Situation, facts: Mapping[str, Facts]) -> Iterator[Step]:
    """What ran before starts again if all is undone; what this run starts goes then anyhow."""
    there = [one for one in deployed_revisions(facts) if serves(s) and one.stored.hash == s.revision.hash]
    for one in there:
        for node, container in one.running:
            yield parts.stop(facts, one.stored, node, container, s.choices)
    for member in s.revision.members if not there else ():
        name = s.revision.container(member)
        end = scripts.container("stop", name, s.revision.deployment, state_dir(facts[member.name]))
        yield step(f"sleep.{member.name}.{name}", member.name, f"stop {name}, which is on demand", end)
