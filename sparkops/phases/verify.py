"""What must answer before a deployment is reported as serving."""

from collections.abc import Iterator
from dataclasses import replace

from sparkops.core.endpoints import ApiPlace, api_url, health_path, health_url
from sparkops.core.plan import Command, Step, Wait
from sparkops.core.revision import Member
from sparkops.core.situation import Choices, Situation, key_path
from sparkops.core.stored import Stored
from sparkops.node_commands import scripts
from sparkops.phases.steps import step

FORGIVEN = 4
"""Failed starts allowed for an engine that served before: memory and peers come back later than the engine."""

GRAPHS = "sparkops: CUDA graphs "
"""Begins the entry script's verdict on CUDA graphs across nodes: they work, hang, or are off."""

COOLDOWN = 6
"""Seconds after which the proxy asks a server again that did not answer (`node_commands/proxy.py`: 5)."""

ANSWER_STALL = 20.0
"""Seconds for which an unchanged wrong answer is asked for again."""


def serve(s: Situation) -> Iterator[Step]:
    """Every engine with an API answers a short request of the model's kind, with its usage counted.

    If the copies are replaced one after the other, the proxy must ask this one again before the next one stops.
    """
    for member in (one for one in s.engines if one.port is not None):
        yield _asked(s, member)
        if s.partial and s.todo(member) != "keep":
            yield pause(member.name)


def serve_front(s: Situation) -> Iterator[Step]:
    """Every proxy answers a short request, once the servers behind it do."""
    yield from (_asked(s, member) for member in s.revision.proxies)


def await_member(s: Situation, member: Member, restarts: int) -> Wait:
    """Poll the container's state, and the health of the API that it serves or works for.

    A plan goes on without a worker's node once the head answers, but not where a later turn needs this node.
    """
    front = s.revision.copy_of(member)[0]
    made = s.todo(member) in ("run", "replace")
    says = GRAPHS if made and member.role == "head" and s.graphs(member) else ""
    wait = _await(s.revision.container(member), member, front, restarts, s.choices, says)
    later = s.partial and any(one.name == member.name for one in s.revision.proxies)
    return wait if front is member or later else replace(wait, through=load_id(front.name, front.role))


def restarts_allowed(s: Situation, member: Member) -> int:
    """How many restarts by Docker are allowed before the start has failed.

    A container that was there already may have failed a moment ago, with Docker's restart still to come; and a cluster
    may be about to form again after a peer was away.
    """
    found = s.existing(member)
    seen = (found.restarts or 0) if found else 0
    if s.todo(member) != "keep":
        return seen
    return seen + (FORGIVEN if member.link else 1)


def await_stored(stored: Stored, node: str, container: str, choices: Choices) -> Wait | None:
    """Wait until a container known only from its labels serves; None if they name no API to ask."""
    member = stored.member(node, container)
    front = stored.front_of(member) if member else None
    if member is None or front is None:
        return None
    wait = _await(container, member, front, FORGIVEN, choices)
    return wait if front is member else replace(wait, through=load_id(front.name, stored.container(front)))


def load_id(node: str, part: str) -> str:
    """The id of the step that waits for a part: its role in a deploy, its container in a plan made from labels."""
    return f"load.{node}.{part}"


def _await(container: str, member: ApiPlace, front: ApiPlace, restarts: int, choices: Choices, says: str = "") -> Wait:
    """Poll the health of `front`. Ranks without an API may log nothing until the deadline: Ray logs on the head."""
    stall = choices.limits.deadline if member.port is None else choices.limits.stall
    poll = scripts.probe(container, health_url(front), restarts, says)
    return Wait(poll, stall=stall, deadline=choices.limits.deadline)


def question(s: Situation, member: Member) -> scripts.Question:
    """The question to a member's API."""
    r = s.revision
    return scripts.Question(
        api=api_url(member),
        health=health_path(member.role),
        model=r.served,
        kind=r.kind,
        key=key_path(s.facts[member.name]),
        container=r.container(member),
        restarts=restarts_allowed(s, member),
        executor=r.executor if member.role == "head" else None,
        joined=len(r.copy_of(member)),
    )


def _asked(s: Situation, member: Member) -> Step:
    title = f"ask {s.revision.served} at {api_url(member)}"
    wait = await_answer(question(s, member), s.choices)
    return step(f"ask.{member.name}.{member.role}", member.name, title, wait)


def pause(node: str) -> Step:
    command = Command(("sleep", str(COOLDOWN)), reads=True)
    return step(f"pause.{node}", node, "wait until the proxy asks this server again", command)


PROOF_SECONDS = 60
"""An engine that came back may compile kernels for its first answer."""


def proof(member: ApiPlace, asked: scripts.Question) -> Wait | None:
    """Whether an engine with an API answers, now that it is back and healthy; failed starts before are forgiven."""
    if member.port is None or member.role == "proxy":
        return None
    forgiving = replace(asked, restarts=asked.restarts + FORGIVEN)
    return Wait(scripts.serving(forgiving, PROOF_SECONDS), stall=ANSWER_STALL, deadline=PROOF_SECONDS)


def await_answer(asked: scripts.Question, choices: Choices) -> Wait:
    """Wait for the answer to a short request. The first compiles kernels, as long as a load without progress."""
    return Wait(scripts.serving(asked, int(choices.limits.stall)), stall=ANSWER_STALL, deadline=choices.limits.stall)
