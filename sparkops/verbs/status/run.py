"""`status`: the state of every deployment; each API gets a request like a client's."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from sparkops.core.condition import (
    EXIT_CODES,
    LOOK_SECONDS,
    MemberContainer,
    ServingProbe,
    State,
    condition,
    serving_probe,
)
from sparkops.core.endpoints import api_url
from sparkops.core.facts import Container, Facts, Left
from sparkops.core.plan import Result
from sparkops.core.stored import Stored, StoredMember
from sparkops.errors import Unreachable, worst
from sparkops.node_commands import scripts
from sparkops.phases.parts import DeployedRevision, question
from sparkops.report.answer import Answer
from sparkops.report.report import Report
from sparkops.session.find_deployment import current
from sparkops.session.open import opened, selected
from sparkops.session.session import Session
from sparkops.verbs.status.options import StatusOptions
from sparkops.verbs.status.ranks import ranks


def status(options: StatusOptions, report: Report) -> Answer:
    """Read the facts, then ask every API; return the state of each deployment."""
    with opened(selected(options.where, report), report) as session:
        facts = session.what_runs()
        here = current(facts, session.names)
        shown = [one for one in here if options.deployment in (None, one.stored.deployment)]
        if options.deployment is not None and not shown and not session.away:
            session.report.note(f"these nodes have no deployment {options.deployment}")
        answers = _ask_all(session, facts, shown)
        deployments = [_deployment(session, facts, revision, answers) for revision in shown]
        lost = [Unreachable.exit_code] if session.lost else []
        code = worst(*(EXIT_CODES[entry["state"]] for entry in deployments), *lost)
        return replace(
            session.answer({"deployments": deployments, "cut_off": [one.document for one in session.cut_off]}),
            exit_code=code,
        )


Answers = Mapping[tuple[str, str], ServingProbe]
"""By node and container."""


def _ask_all(session: Session, facts: Mapping[str, Facts], revisions: Iterable[DeployedRevision]) -> Answers:
    """Ask each API of the running revisions; returns the answers, `wait` for an API that gives none."""
    asked = [
        (member.name, question(facts, revision.stored, member))
        for revision in revisions
        for member in revision.stored.members
        if member.port is not None and revision.runs and member.name in facts
    ]
    results = session.ask_in_turns([(node, scripts.serving(one, LOOK_SECONDS)) for node, one in asked])
    silent = ServingProbe("wait", "no answer")
    return {
        (node, one.container): serving_probe(result.stdout) if isinstance(result, Result) else silent
        for (node, one), result in zip(asked, results, strict=True)
    }


def _deployment(
    session: Session, facts: Mapping[str, Facts], revision: DeployedRevision, answers: Answers
) -> dict[str, Any]:
    stored = revision.stored
    found = {(node, container.name): container for node, container in revision.parts}
    there = [(member, found.get((member.name, stored.container(member)))) for member in stored.members]
    parts = [_part(session, facts, member, container) for member, container in there]

    def answer(member: StoredMember) -> ServingProbe:
        return answers.get((member.name, stored.container(member)), ServingProbe("wait"))

    fronts = [answer(member) for member in stored.fronts]
    engines = [answer(member) for member in stored.engines if member.port is not None]
    state: State = condition(parts, fronts, engines)
    return {
        "name": stored.deployment,
        "topology": stored.topology,
        "recipe": stored.recipe,
        "model": stored.served,
        "hash": stored.hash,
        "api_key": not stored.without_key,
        "state": state,
        "reason": next((one.reason for one in (*fronts, *engines) if not one.serves and one.reason), ""),
        "newer": stored.newer,
        "endpoints": [
            {"url": f"{api_url(m)}/v1", "model": stored.served, "node": m.name, "healthy": one.serves}
            for m, one in zip(stored.fronts, fronts, strict=True)
        ],
        "nodes": [_node(member, container, part) for (member, container), part in zip(there, parts, strict=True)],
        "ray": _ray(stored, fronts),
        "ranks": ranks(session, stored, fronts, parts),
        "graphs_hung": [node for node, container in revision.parts if _graphs_hung(facts[node], container)],
    }


def _graphs_hung(facts: Facts, container: Container) -> bool:
    """Whether an engine that was to run CUDA graphs across nodes runs without, as the node remembers it."""
    hung = facts.state.graphs_hung if isinstance(facts.state, Left) else ()
    return container.watches_graphs and container.image_id in hung


def _node(member: StoredMember, container: Container | None, part: MemberContainer) -> dict[str, Any]:
    return {
        "name": member.name,
        "address": member.address,
        "role": member.role,
        "reachable": part.reachable,
        "container": part.container,
        "state": part.shown,
        "restarts": (container.restarts or 0) if container else 0,
    }


def _part(
    session: Session, facts: Mapping[str, Facts], member: StoredMember, container: Container | None
) -> MemberContainer:
    """A member's container as its node shows it; a node that is not in the inventory counts as reachable."""
    reachable = member.name in facts or member.name not in session.nodes
    if container is None:
        return MemberContainer(member.name, member.role, reachable, None, "missing")
    return MemberContainer(member.name, member.role, reachable, container.name, container.state, container.gave_up)


def _ray(stored: Stored, fronts: Iterable[ServingProbe]) -> dict[str, int | None] | None:
    """Return the numbers of Ray's nodes and GPUs; null if Ray did not answer in time."""
    if stored.executor != "ray":
        return None
    counts = next((front.ray for front in fronts if front.ray), (None, None))
    return {"nodes": counts[0], "gpus": counts[1]}
