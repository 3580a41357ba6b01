"""`recipe new`: a first recipe for a model, from its files on the hub or in a directory. No node is asked."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sparkops.core import proposal_file, shapes
from sparkops.core import topology as topologies
from sparkops.core.memory_estimate import GB10_KIB
from sparkops.core.model_name import ModelName, model_name
from sparkops.core.model_snapshot import ModelSnapshot
from sparkops.core.proposal import Proposal, propose
from sparkops.core.proposal_room import WantedNodes
from sparkops.core.recipe import Recipe
from sparkops.errors import Refused, UsageError
from sparkops.files import model_snapshot, own_files, recipes
from sparkops.files.recipe_places import YAML
from sparkops.remote.model_hub import ModelHub
from sparkops.report.answer import Answer
from sparkops.report.report import Report
from sparkops.verbs.recipe.describe import rounded
from sparkops.verbs.recipe.lint import linted
from sparkops.verbs.recipe.list import LIKELY_NODES, known_nodes
from sparkops.verbs.recipe.options import NewOptions

GB = 128
"""The memory of the nodes that GB10_KIB is of."""


def new(options: NewOptions, report: Report) -> Answer:
    """Propose a recipe, check it against the rules, and write it; raises Refused if the model does not fit."""
    name = model_name(f"{options.model}@{options.revision}" if options.revision else options.model)
    path = Path(options.output or f"recipes/{_usual_name(name)}.yml")
    if path.suffix not in YAML:
        raise UsageError(f"--output {path}: a recipe's file must end with .yml or .yaml")
    names, warnings = known_nodes(options.nodes)
    nodes = WantedNodes(len(names) if names else LIKELY_NODES, GB10_KIB * options.memory // GB, options.topology)
    snapshot = _snapshot(name, options, report)  # a name that is wrong is to be told before a file that is there
    own_files.refuse_existing(path, options.force, "overwrite it with --force, or name another file with --output")
    found = propose(snapshot, nodes, recipes.flag_table())
    text = proposal_file.text(found)
    recipe = recipes.from_text(text, path)
    checked = [linted(recipe, str(path), topologies.parse(kind)) for kind in shapes.kinds(recipe)]
    if refused := [one["message"] for entry in checked for one in entry["findings"] if one["action"] == "refuse"]:
        raise Refused(f"no recipe of {name} passes the rules: {refused[0]}")
    document = _document(found, recipe)
    own_files.make_folder(path.parent)
    own_files.write(path, text)
    if found.shape.nodes > nodes.count:
        warnings.append(f"the recipe needs {found.shape.nodes} nodes, and you have {nodes.count}")
    return Answer({**document, "file": str(path), "files": checked, "nodes": names, "warnings": warnings})


def _document(found: Proposal, recipe: Recipe) -> dict[str, Any]:
    snapshot = found.snapshot
    return {
        "model": snapshot.model,
        "commit": snapshot.commit or None,
        "origin": snapshot.origin,
        "revision": snapshot.revision or None,
        "topology": found.shape.topology,
        "values": [vars(line) for line in found.lines],
        "left_out": list(found.left_out),
        "memory": rounded(found.estimate, ""),
        "others": list(_others(recipe.model)),
    }


def _snapshot(name: ModelName, options: NewOptions, report: Report) -> ModelSnapshot:
    if options.folder:
        return model_snapshot.snapshot(options.folder, name)
    if name.local:
        hint = "copy its small files and name their directory: --from DIR"
        raise UsageError(f"{name} is a directory of the nodes, which sparkops does not read here", hint=hint)
    hub = ModelHub(options.access)
    report.note(f"reading {name} from {hub.endpoint}")
    return hub.snapshot(name)


def _usual_name(name: ModelName) -> str:
    return re.sub(r"[^a-z0-9.-]+", "-", name.model.rpartition("/")[2].lower()).strip(".-") or "recipe"


def _others(model: str) -> Iterator[str]:
    """The recipes that can be named and that serve this model."""
    return (name for name, recipe in recipes.readable() if recipe.model.lower() == model.lower())
