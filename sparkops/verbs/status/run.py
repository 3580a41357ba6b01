"""`status`: what the nodes say of every deployment, each API asked as a client would."""

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
from sparkops.core.facts import Facts
from sparkops.core.plan import NodeLost
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


def status(options: StatusOptions, report: Report) -> Answer:
    """Two waves: facts, then one question to every API."""
    with opened(selected(options.where, report), report) as session:
        facts = session.what_runs()
        shown = [revision for revision in current(facts, session.names) if _named(options, revision)]
        if options.deployment is not None and not shown and not session.away:
            session.report.note(f"these nodes have no deployment {options.deployment}")
        answers = _ask_all(session, facts, shown)
        deployments = [_deployment(session, facts, revision, answers) for revision in shown]
        lost = [Unreachable.exit_code] if session.lost else []
        code = worst(*(EXIT_CODES[entry["state"]] for entry in deployments), *lost)
        return replace(session.answer({"deployments": deployments}), exit_code=code)


def _named(options: StatusOptions, revision: DeployedRevision) -> bool:
    return options.deployment in (None, revision.stored.deployment)


Answers = Mapping[tuple[str, str], ServingProbe]


def _ask_all(session: Session, facts: Mapping[str, Facts], revisions: Iterable[DeployedRevision]) -> Answers:
    """What each API of a running revision says, by (deployment, container and node); APIs of one node in turns."""
    questions: dict[str, list[tuple[str, scripts.Question]]] = {}
    for revision in revisions:
        for member in _with_api(revision.stored):
            if revision.runs and member.name in facts:
                key = f"{revision.stored.container(member)}@{member.name}"
                questions.setdefault(member.name, []).append((key, question(facts, revision.stored, member)))
    answers: dict[tuple[str, str], ServingProbe] = {}
    while any(questions.values()):
        turn = {node: waiting.pop(0) for node, waiting in questions.items() if waiting}
        heard_now = session.ask({node: scripts.serving(asked, LOOK_SECONDS) for node, (_, asked) in turn.items()})
        for node, (key, _) in turn.items():
            result = heard_now.get(node)
            lost = result is None or isinstance(result, NodeLost)
            answers[(node, key)] = ServingProbe("wait", "no answer") if lost else serving_probe(result.stdout)  # type: ignore[union-attr]
    return answers


def _with_api(stored: Stored) -> tuple[StoredMember, ...]:
    return tuple(member for member in stored.members if member.port is not None)


def _deployment(
    session: Session, facts: Mapping[str, Facts], revision: DeployedRevision, answers: Answers
) -> dict[str, Any]:
    stored = revision.stored
    parts = [(member, _part(session, facts, revision, member)) for member in stored.members]
    said = {m.name + m.role: answers.get((m.name, f"{stored.container(m)}@{m.name}")) for m in _with_api(stored)}
    fronts = [answer or ServingProbe("wait") for m in stored.fronts for answer in [said.get(m.name + m.role)]]
    engines = [
        answer or ServingProbe("wait")
        for m in stored.engines
        if m.port is not None
        for answer in [said.get(m.name + m.role)]
    ]
    state: State = condition([part for _, part in parts], fronts, engines)
    return {
        "name": stored.deployment,
        "topology": stored.topology,
        "recipe": stored.recipe,
        "model": stored.served,
        "hash": stored.hash,
        "state": state,
        "reason": next((answer.reason for answer in (*fronts, *engines) if not answer.serves and answer.reason), ""),
        "newer": stored.newer,
        "endpoints": [
            {"url": f"{api_url(m)}/v1", "model": stored.served, "node": m.name, "healthy": bool(a and a.serves)}
            for m in stored.fronts
            for a in [said.get(m.name + m.role)]
        ],
        "nodes": [_node(member, part, revision) for member, part in parts],
        "ray": _ray(stored, fronts),
    }


def _part(
    session: Session, facts: Mapping[str, Facts], revision: DeployedRevision, member: StoredMember
) -> MemberContainer:
    name = revision.stored.container(member)
    found = next((c for node, c in revision.parts if node == member.name and c.name == name), None)
    reachable = member.name in facts or member.name not in session.nodes
    return MemberContainer(
        member.name,
        member.role,
        reachable,
        name if found else None,
        found.state if found else "missing",
        bool(found and found.gave_up),
    )


def _node(member: StoredMember, part: MemberContainer, revision: DeployedRevision) -> dict[str, Any]:
    found = next((c for node, c in revision.parts if node == member.name and c.name == part.container), None)
    return {
        "name": member.name,
        "address": member.address,
        "role": member.role,
        "reachable": part.reachable,
        "container": part.container,
        "state": part.shown,
        "restarts": (found.restarts or 0) if found else 0,
    }


def _ray(stored: Stored, fronts: Iterable[ServingProbe]) -> dict[str, int | None] | None:
    """Nulls where Ray did not tell in time."""
    if not stored.ray:
        return None
    counts = next((front.ray for front in fronts if front.ray), (None, None))
    return {"nodes": counts[0], "gpus": counts[1]}
