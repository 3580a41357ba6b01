"""The verb table: which words each command takes, and what runs for each verb. The only place that imports on demand.

Paramiko, Fabric, structlog and rich take longer to import than `sparkops --help` may take at all.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

COMMANDS = {
    "init": ("setup:init", "Write an inventory for these machines, pin their host keys, name what is missing."),
    "trust": ("setup:trust", "Show the nodes' host keys and pin them beside the inventory."),
    "facts": ("look:facts", "Show what is read from the nodes before anything is decided."),
    "plan": ("serve:plan", "Show what deploy would do, command by command."),
    "deploy": ("serve:deploy", "Make a model serve, and verify that it does."),
    "status": ("look:status", "Tell what serves where, verified by asking it."),
    "logs": ("look:logs", "Print the engines' logs, node by node."),
    "rollback": ("serve:rollback", "Bring back what served before the last deploy."),
    "stop": ("serve:stop", "Stop what sparkops started, and verify that it is gone."),
    "endpoint": ("look:endpoint", "Print the variables that a client needs to use the endpoint."),
    "key": ("look:key", "Print the endpoint's API key, or change it."),
    "recipe": ("lists:recipe", "List the recipes, or show one as it would be served."),
    "rules": ("lists:rules", "List the rules that every deploy is held to, or explain one."),
    "lint": ("lists:lint", "Hold recipe files to the rules, without any node."),
    "lab": ("lab:lab", "Run emulated nodes on this machine: no GPU, no root, no Docker."),
}
"""Each command's words, below `sparkops.cli.verbs`, and its line in the help."""

SECTIONS = {
    "Before": ("init", "trust", "facts", "plan"),
    "Serve": ("deploy", "status", "logs", "rollback", "stop"),
    "Use": ("endpoint", "key"),
    "Know": ("recipe", "rules", "lint"),
    "Try it without the hardware": ("lab",),
}

VERBS = {
    "plan": "sparkops.workflows:plan",
    "deploy": "sparkops.workflows:deploy",
    "status": "sparkops.workflows:status",
    "stop": "sparkops.workflows:stop",
    "rollback": "sparkops.workflows:rollback",
    "logs": "sparkops.workflows:logs",
    "key": "sparkops.workflows:key",
    "key rotate": "sparkops.workflows:key",
    "endpoint": "sparkops.workflows:endpoint",
    "trust": "sparkops.workflows:trust",
    "init": "sparkops.workflows:init",
    "facts": "sparkops.workflows:facts",
    "rules": "sparkops.cli.rulebook:rules",
    "lint": "sparkops.cli.recipe:lint",
    "recipe list": "sparkops.cli.catalogue:recipes",
    "recipe show": "sparkops.cli.recipe:show",
    "lab up": "sparkops.cli.labs:up",
    "lab down": "sparkops.cli.labs:down",
    "lab status": "sparkops.cli.labs:status",
    "lab fault": "sparkops.cli.labs:fault",
}

PARTS = {
    "lab inventory": "sparkops.cli.labs:inventory",
    "ending": "sparkops.report.ending:Ending",
    "report": "sparkops.report.report:Report",
    "run log": "sparkops.report.runlog:RunLog",
    "live screen": "sparkops.report.terminal:LiveScreen",
}


def command(name: str) -> Any:
    """The words of a command, as click reads them."""
    return _load(f"sparkops.cli.verbs.{COMMANDS[name][0]}")


def verb(name: str) -> Any:
    """The function behind a verb: `(options, report) -> Answer`."""
    return _load(VERBS[name])


def part(name: str) -> Any:
    """Something that only some runs need."""
    return _load(PARTS[name])


def _load(target: str) -> Any:
    module, _, name = target.partition(":")
    return getattr(import_module(module), name)
