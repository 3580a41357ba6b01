"""What runs for `recipe show` and `lint`: a recipe, and what a topology and the rules make of it; no node."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from sparkops import load
from sparkops import rules as rulebook
from sparkops.answer import Answer
from sparkops.cli.catalogue import summary
from sparkops.cli.wishes import Known
from sparkops.core import topology as topologies
from sparkops.core.recipe import Overrides, Recipe, Settings, command_line, effective
from sparkops.errors import Refused
from sparkops.report.ending import Ending


def show(options: Known, report: Ending) -> Answer:
    """One recipe; with a topology as that would serve it, rules applied."""
    recipe = load.recipe(options.name)
    if options.topology is None:
        return Answer({"recipe": _recipe(recipe, recipe.args, recipe.env)})
    shape = _shape(recipe, options.topology)
    settled, findings = rulebook.judge(effective(recipe, shape.kind, Overrides()), shape, frozenset())
    return Answer(
        {
            "recipe": _recipe(recipe, settled.args, settled.env),
            "topology": shape.topology,
            "rules": [asdict(finding) for finding in findings],
            "command": shlex.join(command_line(settled)),
        }
    )


def lint(options: Known, report: Ending) -> Answer:
    """What the rules hold against each file in each topology that it may be served in."""
    wanted = (options.topology,) if options.topology else ("solo", "cluster")
    checked = [_linted(load.recipe(file), file, topology) for file in options.files for topology in wanted]
    refused = [entry["file"] for entry in checked if any(found["action"] == "refuse" for found in entry["findings"])]
    error = None
    if refused:
        names = ", ".join(dict.fromkeys(refused))
        error = Refused(f"a deploy would refuse {names}", hint="`sparkops rules ID` tells why")
    return Answer({"files": checked}, error=error)


def _linted(recipe: Recipe, file: str, topology: str) -> dict[str, Any]:
    shape = _shape(recipe, topology)
    _, findings = rulebook.judge(effective(recipe, shape.kind, Overrides()), shape, frozenset())
    return {"file": file, "topology": topology, "findings": [asdict(finding) for finding in findings]}


def _shape(recipe: Recipe, text: str) -> topologies.Shape:
    """The smallest placement of that topology, as there are no nodes here to place it on."""
    wanted = topologies.parse(text)
    least = max(topologies.LEAST_CLUSTER, recipe.nodes.min) if wanted.kind == "cluster" else 1
    return topologies.Shape(wanted.kind, wanted.count or least, "ray", str(wanted))


def _recipe(recipe: Recipe, args: Settings, env: Settings) -> Mapping[str, Any]:
    return {
        **summary(recipe),
        "source": recipe.source,
        "revision": recipe.revision,
        "nodes": asdict(recipe.nodes),
        "args": _settings(args),
        "env": _settings(env),
        "mounts": list(recipe.mounts),
        "metadata": {name: value for name, value in asdict(recipe.metadata).items() if value},
    }


def _settings(settings: Settings) -> Mapping[str, Any]:
    return {name: {"value": setting.value, "origin": setting.origin} for name, setting in settings.items()}
