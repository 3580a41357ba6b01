"""Every verb: where its words are read, what it does, how its answer is shown. A new verb is a folder and a line here.

Modules are below `sparkops.verbs` and are imported when their verb is meant: `sparkops --help` imports none of them.
"""

from collections.abc import Callable, Iterable
from functools import partial
from importlib import import_module
from typing import Any, NamedTuple

from sparkops import signals
from sparkops.report.answer import Answer
from sparkops.report.ending import Show

Run = Callable[[Any, Any], Answer]


class Verb(NamedTuple):
    """`noun`: a folder below `sparkops.verbs`; its `command.py` has the click command, named as the first word.

    `run` and `show` are `module:function` in that folder: `(options, report) -> Answer` and `(document, ink, how) ->
    lines`. First words also have a `section` and a `summary` for `sparkops --help`. A GROUP only has verbs below it.
    A Local command needs no nodes: a hint to type it has no `-i`.
    """

    noun: str
    run: str
    show: str
    section: str = ""
    summary: str = ""
    needs_nodes: bool = True


Local = partial(Verb, needs_nodes=False)

GROUP = ""
SET_UP, DEPLOY, IMAGES, OPERATE = "Set up", "Deploy", "Images and models", "Operate"
INSPECT, RECIPES, BENCHMARKS, LAB = "Inspect", "Recipes and rules", "Benchmarks", "Lab"

VERBS = {
    "init": Local("setup", "run:init", "show:init", SET_UP, "Write an inventory and pin the nodes' host keys."),
    "trust": Verb("setup", "run:trust", "show:trust", SET_UP, "Show the nodes' host keys and pin them."),
    "preflight": Verb("preflight", "run:preflight", "show:preflight", SET_UP, "Check the nodes and show the fixes."),
    "preflight list": Verb("preflight", "list:listed", "show:listed"),
    "preflight explain": Verb("preflight", "list:explained", "show:explained"),
    "fabric": Verb("fabric", "run:fabric", "show:fabric", SET_UP, "Show the QSFP cables, and what is wrong with them."),
    "fabric setup": Verb("fabric", "setup:setup", "show:setup"),
    "facts": Verb("status", "facts:facts", "show:facts", SET_UP, "Show hardware, network and software of the nodes."),
    "completion": Local("completion", "run:script", "show:script", SET_UP, "Print a script for Tab completion."),
    "help": Local("about", "run:show_help", "show:show_help", SET_UP, "Show the help of a command."),
    "version": Local("about", "run:version", "show:version", SET_UP, "Show the version of sparkops."),
    "plan": Verb("deploy", "run:plan", "show:plan", DEPLOY, "Show every command that deploy would run."),
    "place": Verb("fleet", "run:place", "show:placed", DEPLOY, "Show which nodes a fleet's deployments would take."),
    "diff": Verb("fleet", "apply:diff", "show:differs", DEPLOY, "Show how the nodes differ from a fleet's file."),
    "apply": Verb("fleet", "apply:apply", "show:applied", DEPLOY, "Make the nodes serve what a fleet's file says."),
    "deploy": Verb("deploy", "run:deploy", "show:deploy", DEPLOY, "Start a model and verify that it serves."),
    "stop": Verb("deploy", "stop:stop", "show:stop", DEPLOY, "Stop what sparkops started."),
    "start": Verb(
        "deploy", "start:start", "show:start", DEPLOY, "Start again what was stopped, and verify that it serves."
    ),
    "restart": Verb(
        "deploy", "start:restart", "show:restart", DEPLOY, "Stop a deployment, start it again and verify it."
    ),
    "rollback": Verb("deploy", "rollback:rollback", "show:rollback", DEPLOY, "Start the previous deployment again."),
    "image": Verb("image", GROUP, GROUP, IMAGES, "Build, pull, copy and compare engine images."),
    "image build": Verb("image", "build:build", "show:built"),
    "image pull": Verb("image", "pull:pull", "show:pulled"),
    "image distribute": Verb("image", "distribute:distribute", "show:distributed"),
    "image list": Verb("image", "list:listing", "show:listing"),
    "image verify": Verb("image", "list:verify", "show:verified"),
    "image flags": Verb("image", "flags:flags", "show:flags"),
    "image prune": Verb("image", "prune:prune", "show:pruned"),
    "image export": Verb("image", "archive:export", "show:exported"),
    "image import": Verb("image", "archive:load", "show:imported"),
    "model": Verb(
        "model", GROUP, GROUP, IMAGES, "Download, copy, verify and remove models; start and stop those on demand."
    ),
    "model fetch": Verb("model", "fetch:fetch", "show:fetched"),
    "model list": Verb("model", "list:listing", "show:listed"),
    "model verify": Verb("model", "list:verify", "show:verified"),
    "model prune": Verb("model", "list:prune", "show:pruned"),
    "model activate": Verb("model", "switch:activate", "show:switched"),
    "model sleep": Verb("model", "switch:sleep", "show:switched"),
    "jobs": Verb("jobs", "run:jobs", "show:jobs", IMAGES, "List background jobs: builds, downloads, copies."),
    "jobs logs": Verb("jobs", "run:logs", "show:logs"),
    "jobs wait": Verb("jobs", "run:wait", "show:jobs"),
    "jobs cancel": Verb("jobs", "run:cancel", "show:cancelled"),
    "play": Verb("play", "run:play", "show:play", OPERATE, "Run a playbook on the nodes."),
    "playbook": Local("play", GROUP, GROUP, OPERATE, "Show the included playbooks or check your own."),
    "playbook list": Verb("play", "playbooks:names", "show:names"),
    "playbook show": Verb("play", "playbooks:show", "show:shown"),
    "playbook lint": Verb("play", "playbooks:lint", "show:linted"),
    "run": Verb("play", "adhoc:run", "show:run", OPERATE, "Run a command on every selected node."),
    "gateway": Verb(
        "gateway", GROUP, GROUP, OPERATE, "Give people keys for an endpoint, show what they used, and its log."
    ),
    "gateway key": Verb("gateway", GROUP, GROUP),
    "gateway key add": Verb("gateway", "keys:add", "show:added"),
    "gateway key list": Verb("gateway", "keys:listed", "show:listed"),
    "gateway key rotate": Verb("gateway", "keys:rotate", "show:rotated"),
    "gateway key revoke": Verb("gateway", "keys:revoke", "show:revoked"),
    "gateway logs": Verb("gateway", "logs:logs", "show:logged"),
    "gateway usage": Verb("gateway", "usage:usage", "show:used"),
    "cache": Verb("cache", GROUP, GROUP, OPERATE, "Drop page caches, now or on a schedule."),
    "cache drop": Verb("cache", "run:drop", "show:dropped"),
    "cache schedule": Verb("cache", "run:schedule", "show:scheduled"),
    "cache unschedule": Verb("cache", "run:schedule", "show:scheduled"),
    "cache status": Verb("cache", "run:status", "show:scheduled"),
    "cache permit": Verb("cache", "run:permit", "show:permitted"),
    "memory": Verb("memory", "run:memory", "show:memory", OPERATE, "Show what uses the memory of each node."),
    "cleanup": Verb("cleanup", "run:cleanup", "show:cleanup", OPERATE, "Show and remove what sparkops left on nodes."),
    "status": Verb("status", "run:status", "show:status", INSPECT, "Show what runs and test it with a request."),
    "watch": Verb("watch", "run:watch", "show:watch", INSPECT, "Watch nodes and deployments as they change."),
    "monitor": Verb("monitor", GROUP, GROUP, INSPECT, "Print what Prometheus and Grafana need for these nodes."),
    "monitor rules": Local("monitor", "run:rules", "show:rules"),
    "monitor dashboard": Local("monitor", "run:dashboard", "show:dashboard"),
    "monitor targets": Verb("monitor", "run:targets", "show:targets"),
    "history": Verb("history", "run:history", "show:history", INSPECT, "Show who ran what on the nodes."),
    "logs": Verb("status", "logs:logs", "show:logs", INSPECT, "Print the engines' logs, node by node."),
    "endpoint": Verb("status", "endpoint:endpoint", "show:endpoint", INSPECT, "Print URL, key and model for a client."),
    "key": Verb("status", "key:key", "show:key", INSPECT, "Print the endpoint's API key or change it."),
    "key rotate": Verb("status", "key:key", "show:rotated"),
    "recipe": Local(
        "recipe", GROUP, GROUP, RECIPES, "List, show, compare, export and lock recipes; keep those of others."
    ),
    "recipe list": Verb("recipe", "list:recipes", "show_catalogue:recipes"),
    "recipe new": Verb("recipe", "new:new", "show_new:written"),
    "recipe add": Verb("recipe", "catalogue:add", "show_catalogues:added"),
    "recipe update": Verb("recipe", "catalogue:update", "show_catalogues:updated"),
    "recipe remove": Verb("recipe", "catalogue:remove", "show_catalogues:removed"),
    "recipe search": Verb("recipe", "list:search", "show_catalogue:found"),
    "recipe show": Verb("recipe", "describe:show", "show_catalogue:recipe"),
    "recipe export": Verb("recipe", "compare:export", "show:exported"),
    "recipe diff": Verb("recipe", "compare:diff", "show:differing"),
    "recipe lock": Verb("recipe", "recipe_lock:lock", "show:locked"),
    "recipe verify": Verb("recipe", "recipe_lock:verify", "show:verified"),
    "advise": Local("recipe", "advise:recommend", "show_advice:advice", RECIPES, "Suggest a topology for a workload."),
    "rules": Local("recipe", "rules:rules", "show_catalogue:rules", RECIPES, "List or explain the rules of a deploy."),
    "lint": Local("recipe", "lint:lint", "show_lint:linted", RECIPES, "Check recipe files against the rules."),
    "schema": Local("recipe", "schema:schema", "show:schema", RECIPES, "Print a JSON Schema for your editor."),
    "bench": Verb("bench", GROUP, GROUP, BENCHMARKS, "Measure deployments, store the results and compare them."),
    "bench run": Verb("bench", "run:run", "show:run"),
    "bench topologies": Verb("topologies", "run:topologies", "show:topologies"),
    "bench suites": Verb("bench", "records:suites", "show:suites"),
    "bench list": Verb("bench", "records:listing", "show:listing"),
    "bench show": Verb("bench", "records:show", "show:shown"),
    "bench export": Verb("bench", "records:export", "show:exported"),
    "bench compare": Verb("bench", "records:compare", "show:compared"),
    "lab": Local("lab", GROUP, GROUP, LAB, "Run emulated nodes on this machine."),
    "lab up": Verb("lab", "run:up", "show:up"),
    "lab down": Verb("lab", "run:down", "show:down"),
    "lab status": Verb("lab", "run:status", "show:status"),
    "lab fault": Verb("lab", "run:fault", "show:fault"),
}

COMMANDS = {name: verb for name, verb in VERBS.items() if verb.section}
"""First words of a command line, in the order of `sparkops --help`."""

NEED_NODES = frozenset(name for name, verb in COMMANDS.items() if verb.needs_nodes)
"""First words of commands that reach nodes: in hints they get this run's `-i`."""


def command(name: str) -> Any:
    """Return the click command of a first word."""
    return _load(VERBS[name].noun, f"command:{name}")


def run(verb: str) -> Run:
    """Return the function that does the work of a verb."""
    function: Run = _load(VERBS[verb].noun, VERBS[verb].run)
    return function


def show(verb: str) -> Show:
    """Return the function that turns the document of a verb into lines of text."""
    function: Show = _load(VERBS[verb].noun, VERBS[verb].show)
    return function


def names(kind: str, context: Any) -> Iterable[str]:
    """Return the names of a kind that can be completed here."""
    found: Iterable[str] = _load("completion", "names:names")(kind, context)
    return found


def _load(noun: str, target: str) -> Any:
    module, _, name = target.partition(":")
    with signals.deferred():
        return getattr(import_module(f"sparkops.verbs.{noun}.{module}"), name)
