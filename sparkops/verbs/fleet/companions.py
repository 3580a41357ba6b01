"""What a fleet has beside its deployments: whether it answers, what happens to it, and its image."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from sparkops.core.condition import REPLACE_SECONDS, serving_probe
from sparkops.core.endpoints import api_url
from sparkops.core.facts import Facts, Unread
from sparkops.core.plan import Result
from sparkops.core.proxy_image import called
from sparkops.core.revision import RevisionImage
from sparkops.node_commands import scripts
from sparkops.phases.companion import Companion
from sparkops.phases.parts import question
from sparkops.session.session import Session
from sparkops.verbs.image.distribute import ensure_everywhere
from sparkops.verbs.image.pull import ensure_pulled, references

One = TypeVar("One", bound=Companion)
Problem = tuple[str, str]
"""What is wrong, and what to do."""


def made_image(image: str, facts: Facts) -> RevisionImage:
    """The image, which may have a digest, as this node has it."""
    found = facts.image(called(image))
    return RevisionImage(called(image), found.fingerprint if found else "")


def asked(one: One, session: Session) -> One:
    """It is replaced if it hangs; one that does not listen yet may be starting."""
    if not one.runs:
        return one
    front = one.stored.fronts[0]
    command = scripts.serving(question({one.member.name: one.facts}, one.stored, front), REPLACE_SECONDS)
    (told,) = session.ask({one.member.name: command}).values()
    return replace(one, hangs=isinstance(told, Result) and serving_probe(told.stdout).health == "silent")


def get_image(one: Companion, image: str, session: Session) -> list[str]:
    """Get its image, which may have a digest, if its node lacks it; returns what was got, in words."""
    if one.runs:
        return []
    node, reference = one.member.name, called(image)
    having = [name for name, known in session.facts(images=[reference]).items() if known.image(reference)]
    if node in having:
        return []
    if having:
        ensure_everywhere(session, reference, [having[0], node])
        return [f"copied {reference} to {node}"]
    ensure_pulled(session, *references(image), node)
    return [f"pulled {reference} on {node}"]


def gets(one: Companion) -> list[str]:
    """What `--setup` gets for it."""
    reference = one.revision.image.reference
    return [] if one.runs or one.facts.image(reference) else [f"get {reference} for {one.member.name}"]


def action(one: Companion, *, settled: bool, otherwise: str) -> str:
    """What happens to it: `none` if it is `settled`, new, start, move, replace; or `otherwise` if it runs."""
    if settled:
        return "none"
    if one.runs:
        return otherwise
    if one.existing is not None:
        return "replace" if one.replaces else "start"
    if any(it.runs for it in one.in_the_way):
        return "replace"
    return "move" if any(it.runs for it in one.others) else "new"


def was(one: Companion) -> Iterator[str]:
    """The addresses at which earlier ones of it run."""
    return (api_url(front) for it in one.others if it.runs for front in it.stored.fronts)


def port_problems(one: Companion, taken: Sequence[str], cure: str) -> Iterator[Problem]:
    """What else listens on its port: `taken` by deployments that still need it then, or by strangers."""
    node, port = one.member.name, one.member.port
    listening = one.facts.listeners
    if one.runs or isinstance(listening, Unread):
        return
    if taken:
        yield f"{taken[0]} has port {port} of {node}, and still needs it when this starts", cure
        return
    running = [other for other in one.in_the_way if other.runs]
    ours = {it.port for other in running for it in other.stored.members} | ({port} if one.existing else set())
    if found := next((it for it in listening if it.port == port and port not in ours), None):
        holder = f"{found.process} (pid {found.pid})" if found.process else "another process"
        yield f"{holder} uses port {port} of {node}", cure


def image_problems(one: Companion, *, setup: bool) -> Iterator[Problem]:
    """What is wrong with its image; with `setup` it may be missing."""
    reference, node = one.revision.image.reference, one.member.name
    if one.facts.image(reference) is None and not setup and not one.runs:
        yield f"{node} lacks the image {reference}", "get it: `sparkops apply --setup`"
