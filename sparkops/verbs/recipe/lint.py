"""`lint`: check recipe files against topologies and rules, without nodes."""

import re
from dataclasses import asdict
from typing import Any

from sparkops import rules as rulebook
from sparkops.core import shapes
from sparkops.core import topology as topologies
from sparkops.core.effective import Effective, Overrides, effective
from sparkops.core.findings import Finding
from sparkops.core.flags import FlagTable
from sparkops.core.recipe import Recipe
from sparkops.errors import Refused, SparkopsError, UsageError
from sparkops.files import flag_tables, pages, recipes
from sparkops.report.answer import Answer
from sparkops.report.ending import Ending
from sparkops.verbs.recipe.options import LintOptions

UNREADABLE = "unreadable"
_LIMITS = ("only", "solo_only", "cluster_only", "mode", "nodes", "max_nodes", "min_nodes")
KEYS = {
    "topology-allowed": _LIMITS,
    "mods-image": ("mods",),
    "env-per-image": ("env",),
    "mounts-required": ("mounts", "container"),
    "mxfp4-image": ("container",),
    "marlin-fallback": ("container",),
    "rolling-image": ("container",),
    "official-nccl": ("container",),
    "loader-installed": ("load-format", "container"),
    "cluster-backend": ("tensor-parallel-size", "distributed-executor-backend", *_LIMITS),
    "cluster-eager": ("compilation-config", "cudagraph-capture-sizes", "tensor-parallel-size", "data-parallel-size"),
    "data-parallel-ranks": ("data-parallel-size", "data-parallel-size-local"),
    "capture-sizes-useless": ("cudagraph-capture-sizes", "compilation-config"),
    "qwen3-next": ("model",),
    "cutlass-graphs": ("mxfp4-backend",),
    "vllm-wrapper": ("program",),
}
"""The flags and keys of a recipe that a rule reads, the most telling first."""
_PLACE = re.compile(r"(?:topology (?:solo|cluster) |extends \S+ )*(?P<file>.+):(?P<line>[0-9]+)")
_NAMED = re.compile(r"--([a-z0-9][a-z0-9-]*)|\b([A-Z][A-Z0-9]*_[A-Za-z0-9_]+)\b")
"""Flags and variables in a message."""


def lint(options: LintOptions, report: Ending) -> Answer:
    """Judge each file by itself, under each topology that its author means."""
    wanted = topologies.parse(options.topology) if options.topology else None
    table = flag_tables.from_file(options.flags) if options.flags else None
    checked = [entry for file in options.files for entry in _file(file, wanted, table)]
    spoke = {found["id"] for entry in checked for found in entry["findings"]}
    rules_found = {
        one.id: {"title": one.title, "why": one.why, "source": one.source} for one in rulebook.RULES if one.id in spoke
    }
    return Answer({"files": checked, "rules": rules_found, "format": options.format}, error=_error(checked))


def _error(checked: list[dict[str, Any]]) -> SparkopsError | None:
    """Return an error for refusals first, else for unreadable files."""
    found = [(entry["file"], one) for entry in checked for one in entry["findings"]]
    refusals = [(file, one["id"]) for file, one in found if one["action"] == "refuse" and one["id"] != UNREADABLE]
    unread = [f"{_at(one)}: {one['message']}" for _, one in found if one["id"] == UNREADABLE]
    if refusals:
        files, ids = (dict.fromkeys(part) for part in zip(*refusals, strict=True))
        reasons = ", ".join(f"`sparkops rules {one}`" for one in ids)
        return Refused(f"a deploy would refuse {', '.join(files)}", hint=f"read the reason: {reasons}")
    return UsageError("\n".join(unread)) if unread else None


def _at(found: dict[str, Any]) -> str:
    return f"{found['in']}:{found['line']}" if found["line"] else str(found["in"])


def _file(file: str, wanted: topologies.Topology | None, table: FlagTable | None) -> list[dict[str, Any]]:
    try:
        if pages.page(file):
            return [{"file": file, "topology": None, "findings": []}]
        recipe = recipes.recipe(file, flags=table)
    except UsageError as error:
        return [{"file": file, "topology": None, "findings": [_unreadable(file, error)]}]
    kinds = [wanted] if wanted else [topologies.parse(kind) for kind in shapes.kinds(recipe)]
    return [linted(recipe, file, topology) for topology in kinds]


def linted(recipe: Recipe, file: str, topology: topologies.Topology) -> dict[str, Any]:
    """The findings for a recipe in one topology."""
    settings = effective(recipe, topology.kind, Overrides())
    _, findings = rulebook.judge(settings, shapes.shape(recipe, topology), frozenset())
    return {
        "file": file,
        "topology": str(topology),
        "flags": recipe.flags.version,
        "findings": [_placed(finding, settings, file) for finding in findings],
    }


def _placed(finding: Finding, settings: Effective, file: str) -> dict[str, Any]:
    """Return a finding with its place, which its message then need not repeat."""
    short = f" ({finding.where.rpartition('/')[2]})"
    return {**asdict(finding), "message": finding.message.removesuffix(short), **_place(finding, settings, file)}


def _place(finding: Finding, settings: Effective, file: str) -> dict[str, Any]:
    """Return file and line of the setting that the finding changes, else names, else reads."""
    keys = [change.key for change in finding.changes if change.before is not None]
    keys += [flag or variable for flag, variable in _NAMED.findall(finding.message)]
    given, places = {**settings.env, **settings.args}, settings.recipe.places
    origins = [given[key].origin if key in given else places.get(key, "") for key in (*keys, *KEYS.get(finding.id, ()))]
    others = (places[key] for key in ("command", "args", "model") if key in places)
    for origin in (finding.where, *origins, *others):
        if found := _PLACE.fullmatch(origin):
            return {"in": found["file"], "line": int(found["line"])}
    return {"in": settings.recipe.source or file, "line": None}


def _unreadable(file: str, error: UsageError) -> dict[str, Any]:
    found = re.fullmatch(r"(?P<file>.+?):(?P<line>[0-9]+): (?P<said>.*)", error.message)
    said = found["said"] if found else error.message.removeprefix(f"{file}: ")
    return {
        **asdict(Finding(UNREADABLE, "refuse", said, hint=error.hint or "")),
        "in": found["file"] if found else file,
        "line": int(found["line"]) if found else None,
    }
