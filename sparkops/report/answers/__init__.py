"""How each verb's answer reads for a person: one function a verb, from the JSON document to lines."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from sparkops.report.answers import catalogue, change, labs, look, setup
from sparkops.report.text import How, Ink

Render = Callable[[Mapping[str, Any], Ink, How], Iterator[str]]

ANSWERS: dict[str, Render] = {
    "plan": change.plan,
    "deploy": change.deploy,
    "stop": change.stop,
    "rollback": change.rollback,
    "status": look.status,
    "logs": look.logs,
    "key": look.key,
    "key rotate": look.rotated,
    "endpoint": look.endpoint,
    "facts": look.facts,
    "trust": setup.trust,
    "init": setup.init,
    "rules": catalogue.rules,
    "lint": catalogue.linted,
    "recipe list": catalogue.recipes,
    "recipe show": catalogue.recipe,
    "lab up": labs.up,
    "lab down": labs.down,
    "lab status": labs.status,
    "lab fault": labs.fault,
}


def rendered(verb: str, document: Mapping[str, Any], ink: Ink, how: How) -> Iterator[str]:
    """The lines for a person; a verb without its own form shows the document."""
    render = ANSWERS.get(verb)
    if render is not None:
        yield from render(document, ink, how)
    elif document:
        yield json.dumps(document, indent=2, default=str)
