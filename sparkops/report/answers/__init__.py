"""How each verb's answer reads for a person: one function a verb, from the JSON document to lines.

Each is imported when its verb has answered, so that a verb without nodes pays for its own form alone.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import Any

from sparkops.report.text import How, Ink

Render = Callable[[Mapping[str, Any], Ink, How], Iterator[str]]

ANSWERS = {
    "plan": "change:plan",
    "deploy": "change:deploy",
    "stop": "change:stop",
    "rollback": "change:rollback",
    "status": "look:status",
    "logs": "look:logs",
    "key": "look:key",
    "key rotate": "look:rotated",
    "endpoint": "look:endpoint",
    "facts": "look:facts",
    "preflight": "preflight:preflight",
    "preflight list": "preflight:listed",
    "preflight explain": "preflight:explained",
    "trust": "setup:trust",
    "init": "setup:init",
    "rules": "catalogue:rules",
    "lint": "lint:linted",
    "schema": "schema:schema",
    "advise": "advice:advice",
    "recipe list": "catalogue:recipes",
    "recipe search": "catalogue:found",
    "recipe show": "catalogue:recipe",
    "recipe export": "recipes:exported",
    "recipe diff": "recipes:differing",
    "recipe lock": "recipes:locked",
    "recipe verify": "recipes:verified",
    "image build": "images:built",
    "image pull": "images:pulled",
    "image distribute": "images:distributed",
    "image list": "images:listing",
    "image verify": "images:verified",
    "image flags": "flags:flags",
    "image prune": "images:pruned",
    "image export": "images:exported",
    "image import": "images:imported",
    "jobs": "jobs:jobs",
    "jobs logs": "look:logs",
    "jobs wait": "jobs:jobs",
    "jobs cancel": "jobs:cancelled",
    "bench run": "bench:run",
    "bench topologies": "bench:topologies",
    "bench suites": "bench:suites",
    "bench list": "bench:listing",
    "bench show": "bench:shown",
    "bench export": "bench:exported",
    "bench compare": "bench:compared",
    "play": "play:play",
    "playbook list": "play:names",
    "playbook show": "play:shown",
    "playbook lint": "play:linted",
    "run": "play:run",
    "cache drop": "caches:dropped",
    "cache schedule": "caches:scheduled",
    "cache unschedule": "caches:scheduled",
    "cache status": "caches:scheduled",
    "cache permit": "caches:permitted",
    "memory": "memory:memory",
    "cleanup": "cleanup:cleanup",
    "model fetch": "models:fetched",
    "model list": "models:listed",
    "model verify": "models:verified",
    "model prune": "models:pruned",
    "lab up": "labs:up",
    "lab down": "labs:down",
    "lab status": "labs:status",
    "lab fault": "labs:fault",
}
"""Module below this one and function."""


def rendered(verb: str, document: Mapping[str, Any], ink: Ink, how: How) -> Iterator[str]:
    """The lines for a person; a verb without its own form shows the document."""
    if verb in ANSWERS:
        yield from _form(verb)(document, ink, how)
    elif document:
        yield json.dumps(document, indent=2, default=str)


def _form(verb: str) -> Render:
    module, _, name = ANSWERS[verb].partition(":")
    form: Render = getattr(import_module(f"{__name__}.{module}"), name)
    return form
