"""Verified, not assumed: what must answer before a deployment is called serving."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from sparkops.commands import proxy, scripts
from sparkops.core.plan import Action, Step, Wait
from sparkops.core.revision import Member
from sparkops.core.situation import Choices, Situation, key_path
from sparkops.core.stored import Stored

FIRST_ANSWER = 600
"""Seconds for the first short request: kernels are compiled for it, 10 minutes were seen without a warm cache."""

ANSWER_STALL = 20.0
"""Seconds for which the same wrong answer is asked for again."""


class _Place(Protocol):
    """What a member has, stored or wanted."""

    @property
    def address(self) -> str: ...
    @property
    def role(self) -> str: ...
    @property
    def port(self) -> int | None: ...


def serve(s: Situation) -> Iterator[Step]:
    """Every engine with an API answers a short request of the model's kind, with its usage counted."""
    for member in s.revision.engines:
        if member.port is not None:
            yield _asked(s, member)


def serve_front(s: Situation) -> Iterator[Step]:
    """The same through the proxy, once the servers behind it answer."""
    for member in s.revision.proxies:
        yield _asked(s, member)


def await_member(s: Situation, member: Member) -> Wait:
    """Poll the container's state, and the health of the API that it serves or works for."""
    found = s.existing(member)
    front: _Place = member if member.port is not None else s.revision.engines[0]
    probe = scripts.probe(s.revision.container(member), health_url(front), (found.restarts or 0) if found else 0)
    return Wait(probe, stall=_stall(member, s.choices), deadline=s.choices.deadline)


def await_stored(stored: Stored, node: str, container: str, choices: Choices) -> Wait | None:
    """The same for a revision that is only known from its labels; None when they name no API to ask."""
    member = stored.member(node, container)
    front = stored.front_of(member) if member else None
    if member is None or front is None:
        return None
    probe = scripts.probe(container, health_url(front))
    return Wait(probe, stall=_stall(member, choices), deadline=choices.deadline)


def _stall(member: _Place, choices: Choices) -> float:
    """A rank without an API may be silent while all load: Ray prints its words into the head's log."""
    return choices.deadline if member.port is None else choices.stall


def health_url(place: _Place) -> str:
    return f"{api_url(place)}{health_path(place.role)}"


def health_path(role: str) -> str:
    return proxy.HEALTH if role == "proxy" else "/health"


def api_url(place: _Place) -> str:
    """Nodes ask their own engine at the address that clients use."""
    host = f"[{place.address}]" if ":" in place.address else place.address
    return f"http://{host}:{place.port}"


def question(s: Situation, member: Member) -> scripts.Question:
    """What to ask a member's API."""
    r = s.revision
    found = s.existing(member)
    return scripts.Question(
        api=api_url(member),
        health=health_path(member.role),
        model=r.served,
        kind=r.kind,
        key=key_path(s.facts[member.name]),
        container=r.container(member),
        restarts=(found.restarts or 0) if found else 0,
        ray=len(r.engines) if member.role == "head" and r.executor == "ray" else 0,
    )


def _asked(s: Situation, member: Member) -> Step:
    wait = Wait(scripts.serving(question(s, member), FIRST_ANSWER), stall=ANSWER_STALL, deadline=2.0 * FIRST_ANSWER)
    return Step(
        f"ask.{member.name}.{member.role}",
        member.name,
        f"ask {s.revision.served} at {api_url(member)}",
        Action(wait=wait),
    )
