"""Images as the nodes have them: what the verbs of images share."""

from collections.abc import Sequence
from typing import Any

from sparkops.checks.docker import docker_hint, docker_problem
from sparkops.core.facts import Facts
from sparkops.core.facts.images import Image
from sparkops.errors import Refused
from sparkops.session.session import Session


def one_of(session: Session, node: str | None) -> str:
    """Return the named node, else the first selected one."""
    name = (session.inventory.node(node) if node is not None else session.selected[0]).name
    session.require([name])
    return name


def facts_of(session: Session, node: str, *images: str) -> Facts:
    return facts_by_node(session, [node], images)[node]


def facts_by_node(session: Session, nodes: Sequence[str], images: Sequence[str]) -> dict[str, Facts]:
    """Read the facts of these nodes; raises unless Docker answers on each."""
    found = session.facts(images=images)
    session.require(nodes)
    for node in nodes:
        if problem := docker_problem(found[node]):
            raise Refused(f"{node}: Docker cannot be used: {problem}", node=node, hint=docker_hint(problem))
    return {node: found[node] for node in nodes}


def described(image: Image) -> dict[str, Any]:
    return {"id": image.id, "fingerprint": image.fingerprint, "size_bytes": image.size_bytes}
