"""Containers on unreachable nodes: a note on the deployment's other nodes lets a later run end them."""

from collections.abc import Container, Iterator, Mapping
from typing import Literal

from sparkops.core.facts import Facts
from sparkops.core.plan import Command, Phase, Step
from sparkops.core.situation import Situation, state_dir
from sparkops.core.stored import Stored, StoredMember
from sparkops.node_commands import scripts
from sparkops.phases.parts import DeployedRevision, deployed_revisions
from sparkops.phases.steps import QUIETLY, filled, step


def missing(facts: Mapping[str, Facts], stored: Stored) -> tuple[StoredMember, ...]:
    """Members whose nodes did not answer."""
    return tuple(member for member in stored.members if member.name not in facts)


def leave_notes(facts: Mapping[str, Facts], stored: Stored) -> Iterator[Step]:
    """Note on every reachable node of the deployment which container may still run where."""
    holders = dict.fromkeys(member.name for member in stored.members if member.name in facts)
    for member in missing(facts, stored):
        name = stored.container(member)
        for holder in holders:
            path = f"{state_dir(facts[holder])}/orphans/{name}@{member.address}"
            write = _write(path, member.address, stored.deployment, name)
            title = f"note that {member.name} may still have the container {name}"
            yield step(f"note.{holder}.{name}.{member.name}", holder, title, write, scripts.remove_file(path))


def _write(path: str, address: str, deployment: str, container: str) -> Command:
    return scripts.write(path, "644", f"{address} {deployment} {container}\n")


def left_over(facts: Mapping[str, Facts], one: DeployedRevision) -> bool:
    """Whether of this revision only that runs which an earlier run was to stop and could not reach."""
    names = one.stored.nodes
    noted = {(names.get(it.address, ""), it.container) for known in facts.values() for it in known.orphans}
    return one.runs and {(node, container.name) for node, container in one.running} <= noted


def note_unreachable(s: Situation) -> Iterator[Step]:
    """Notes for containers that this deploy replaces but cannot reach."""
    for stored in {stored.hash: stored for _, stored, _ in s.replaced}.values():
        yield from leave_notes(s.facts, stored)


def compile_orphans(
    facts: Mapping[str, Facts], addresses: Mapping[str, str], wanted: Container[tuple[str, str]] = ()
) -> tuple[Phase, ...]:
    """End containers that an earlier run could not reach and this one can; then remove the notes about them.

    One whose deployment is kept on other nodes is only stopped, so that all of it can be started again. One whose
    deployment runs whole was brought back meanwhile: only the note goes, as for the containers (node, name) `wanted` by
    this run.
    """
    by_address = {address: node for node, address in addresses.items() if node in facts}
    noted = {(by_address.get(it.address, ""), it.container) for known in facts.values() for it in known.orphans}
    revisions = deployed_revisions(facts)
    staying = [one for one in revisions if one.kept or {(node, it.name) for node, it in one.running} - noted]
    back = [one for one in revisions if one.complete and not one.kept and not left_over(facts, one)]
    shared, whole = ({(node, it.name) for one in some for node, it in one.parts} for some in (staying, back))
    ends: dict[str, Step] = {}
    notes: list[Step] = []
    for holder, known in facts.items():
        for note in known.orphans:
            node = by_address.get(note.address)
            if node is None:
                continue
            is_wanted = (node, note.container) in wanted
            if not is_wanted and (node, note.container) not in whole:
                verb: Literal["stop", "remove"] = "stop" if (node, note.container) in shared else "remove"
                end = scripts.container(verb, note.container, note.deployment, state_dir(facts[node]))
                title = f"{verb} {note.container}, which an earlier run could not reach"
                ends[f"{node}.{note.container}"] = step(f"orphan.{node}.{note.container}", node, title, end)
            forget = scripts.remove_file(note.path)
            again = _write(note.path, note.address, note.deployment, note.container) if is_wanted else None
            notes.append(
                step(f"note.{holder}.{note.name}", holder, f"remove the note {note.name}", forget, again, QUIETLY)
            )
    return filled({"end what could not be reached": ends.values(), "forget notes": notes})
