"""The verb table: which words each command takes, and what runs for each verb. The only place that imports on demand.

Paramiko, Fabric, structlog and rich take longer to import than `sparkops --help` may take at all.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

COMMANDS = {
    "init": ("setup:init", "Write an inventory for these machines, pin their host keys, name what is missing."),
    "trust": ("setup:trust", "Show the nodes' host keys and pin them beside the inventory."),
    "preflight": ("preflight:preflight", "Tell whether the nodes are fit, what exactly is not, and how to mend it."),
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
    "schema": ("schema:schema", "Print the JSON Schema of a kind of file, for an editor."),
    "lint": ("lists:lint", "Hold recipe files to the rules, without any node."),
    "image": ("image:image", "Build, fetch, copy and compare the images that engines run from."),
    "model": ("model:model", "Fetch, copy, verify and remove the models that engines load."),
    "jobs": ("jobs:jobs", "List the work that goes on on the nodes by itself: builds, downloads, copies."),
    "bench": ("bench:bench", "Measure what serves, keep the numbers, compare what is comparable."),
    "play": ("play:play", "Run a playbook of your own on the nodes."),
    "playbook": ("play:playbook", "Show the playbooks that come with sparkops, or check one of your own."),
    "run": ("play:run", "Run a command on every selected node, equal output together."),
    "cache": ("cache:cache", "Drop the page caches that eat the GPU's memory, now or by cron."),
    "memory": ("memory:memory", "Tell where each node's memory is, and how long it will last."),
    "cleanup": ("cleanup:cleanup", "Show what sparkops left on the nodes, and take it away."),
    "advise": ("lists:advise", "Tell which topology serves a workload best, and whose word that is."),
    "lab": ("lab:lab", "Run emulated nodes on this machine: no GPU, no root, no Docker."),
}
"""Each command's words, below `sparkops.cli.verbs`, and its line in the help."""

LATER = {
    "recipe": {
        "export": "recipes:export",
        "diff": "recipes:diff",
        "lock": "recipes:lock",
        "verify": "recipes:verify",
    },
}
"""Verbs of a group that need more than the rest of it: imported when they are meant, so that `list` starts at once."""

SECTIONS = {
    "Before": ("init", "trust", "preflight", "facts", "plan"),
    "Serve": ("deploy", "status", "logs", "rollback", "stop"),
    "Have": ("image", "model", "jobs"),
    "Operate": ("play", "playbook", "run", "bench"),
    "Use": ("endpoint", "key"),
    "Keep": ("cache", "memory", "cleanup"),
    "Know": ("recipe", "advise", "rules", "lint", "schema"),
    "Try it without the hardware": ("lab",),
}

WITHOUT_NODES = frozenset(("init", "recipe", "rules", "lint", "advise", "playbook", "schema", "lab"))
"""What is typed without `-i` in advice."""

VERBS = {
    "plan": "sparkops.workflows.deploy:plan",
    "deploy": "sparkops.workflows.deploy:deploy",
    "status": "sparkops.workflows.status:status",
    "stop": "sparkops.workflows.stop:stop",
    "rollback": "sparkops.workflows.stop:rollback",
    "logs": "sparkops.workflows.look:logs",
    "key": "sparkops.workflows.keys:key",
    "key rotate": "sparkops.workflows.keys:key",
    "endpoint": "sparkops.workflows.look:endpoint",
    "trust": "sparkops.workflows.setup:trust",
    "init": "sparkops.workflows.setup:init",
    "facts": "sparkops.workflows.look:facts",
    "preflight": "sparkops.workflows.preflight:preflight",
    "preflight list": "sparkops.cli.checkbook:listed",
    "preflight explain": "sparkops.cli.checkbook:explained",
    "rules": "sparkops.cli.rulebook:rules",
    "lint": "sparkops.cli.recipe:lint",
    "schema": "sparkops.cli.schemas:schema",
    "advise": "sparkops.cli.advising:recommend",
    "recipe list": "sparkops.cli.catalogue:recipes",
    "recipe search": "sparkops.cli.catalogue:search",
    "recipe show": "sparkops.cli.shown:show",
    "recipe export": "sparkops.cli.comparing:export",
    "recipe diff": "sparkops.cli.comparing:diff",
    "recipe lock": "sparkops.workflows.locking:lock",
    "recipe verify": "sparkops.workflows.locking:verify",
    "image build": "sparkops.workflows.image_build:build",
    "image pull": "sparkops.workflows.image_build:pull",
    "image distribute": "sparkops.workflows.image_copy:distribute",
    "image list": "sparkops.workflows.image:listing",
    "image verify": "sparkops.workflows.image:verify",
    "image flags": "sparkops.workflows.image_flags:flags",
    "image prune": "sparkops.workflows.image_prune:prune",
    "image export": "sparkops.workflows.image_file:export",
    "image import": "sparkops.workflows.image_file:load",
    "model fetch": "sparkops.workflows.model_fetch:fetch",
    "model list": "sparkops.workflows.model:listing",
    "model verify": "sparkops.workflows.model:verify",
    "model prune": "sparkops.workflows.model:prune",
    "jobs": "sparkops.workflows.jobs:jobs",
    "jobs logs": "sparkops.workflows.jobs:logs",
    "jobs wait": "sparkops.workflows.jobs:wait",
    "jobs cancel": "sparkops.workflows.jobs:cancel",
    "bench run": "sparkops.workflows.bench:run",
    "bench topologies": "sparkops.cli.experiment:topologies",
    "bench suites": "sparkops.cli.benches:suites",
    "bench list": "sparkops.cli.benches:listing",
    "bench show": "sparkops.cli.benches:show",
    "bench export": "sparkops.cli.benches:export",
    "bench compare": "sparkops.cli.benches:compare",
    "play": "sparkops.cli.playing:play",
    "playbook list": "sparkops.cli.playbooks:names",
    "playbook show": "sparkops.cli.playbooks:show",
    "playbook lint": "sparkops.cli.playbooks:lint",
    "run": "sparkops.workflows.adhoc:run",
    "cache drop": "sparkops.workflows.cache:drop",
    "cache schedule": "sparkops.workflows.cache:schedule",
    "cache unschedule": "sparkops.workflows.cache:schedule",
    "cache status": "sparkops.workflows.cache:status",
    "cache permit": "sparkops.workflows.cache:permit",
    "memory": "sparkops.workflows.memory:memory",
    "cleanup": "sparkops.workflows.cleanup:cleanup",
    "lab up": "sparkops.cli.labs:up",
    "lab down": "sparkops.cli.labs:down",
    "lab status": "sparkops.cli.labs:status",
    "lab fault": "sparkops.cli.labs:fault",
}

PARTS = {
    "bench page": "sparkops.report.page:page",
    "bench chart": "sparkops.report.charts:svg",
    "bench charts": "sparkops.report.page:drawn",
    "lab inventory": "sparkops.cli.labs:inventory",
    "ending": "sparkops.report.ending:Ending",
    "report": "sparkops.report.report:Report",
    "run log": "sparkops.report.runlog:RunLog",
    "live screen": "sparkops.report.terminal:LiveScreen",
}


def command(name: str) -> Any:
    """The words of a command, as click reads them."""
    return _load(f"sparkops.cli.verbs.{COMMANDS[name][0]}")


def later(group: str, name: str) -> Any:
    """The words of one verb of a group that the group does not have by itself."""
    return _load(f"sparkops.cli.verbs.{LATER[group][name]}")


def verb(name: str) -> Any:
    """The function behind a verb: `(options, report) -> Answer`."""
    return _load(VERBS[name])


def part(name: str) -> Any:
    """Something that only some runs need."""
    return _load(PARTS[name])


def _load(target: str) -> Any:
    module, _, name = target.partition(":")
    return getattr(import_module(module), name)
