"""`model list`, `verify`, `prune`: the nodes' model caches: content, integrity, and what nothing needs."""

import json
import shlex
from collections.abc import Iterable, Mapping
from typing import Any

from sparkops.core.model_name import ModelName, model_name
from sparkops.core.plan import Command, NodeLost, Plan, Result
from sparkops.core.printable import last_lines
from sparkops.core.schema import did_you_mean
from sparkops.core.sizes import bytes_text
from sparkops.core.stored import Stored
from sparkops.core.target import NodesOptions, PruneOptions
from sparkops.errors import Refused, SparkopsError, StepFailed, UsageError
from sparkops.node_commands import images as jobs
from sparkops.node_commands import models as commands
from sparkops.phases.models import compile_prune, compile_verify
from sparkops.phases.parts import deployed_revisions
from sparkops.report.answer import Answer
from sparkops.report.report import Report
from sparkops.session.away import unreachable
from sparkops.session.execute import execute, follow_job
from sparkops.session.find_deployment import in_use
from sparkops.session.open import reached
from sparkops.session.session import Session

RESULT = "result "
NEXT = "next: "


def listing(options: NodesOptions, report: Report) -> Answer:
    """List each node's models with revisions, sizes and partial downloads."""
    with reached(options.where, report) as session:
        found = caches(session)
        nodes = [{"name": name, **about} for name, about in found.items()]
        return session.answer({"nodes": nodes})


def verify(options: NodesOptions, report: Report) -> Answer:
    """Check every file against its hash on every node, and that all have one revision."""
    assert options.name is not None, "a command line has one"
    name = model_name(options.name)
    with reached(options.where, report) as session:
        here = {node.name: node.cache_dir for node in session.there}
        follow(compile_verify(name, here), session, name.job("verify"))
        found = results(session, here, name.job("verify"))
        nodes = [{"name": node, **found[node]} for node in here]
        document = {"model": name.model, "revision": name.revision or None, "nodes": nodes}
        return session.answer(document, _wrong(name, found))


def prune(options: PruneOptions, report: Report) -> Answer:
    """Show and then remove the named models, or what nothing needs; never a deployment's model."""
    names = [model_name(text) for text in options.names]
    with reached(options.where, report) as session:
        session.lock(node.name for node in session.selected)
        # running or kept, with a part on a selected node: others do not use what these nodes have
        everything = deployed_revisions(session.containers())
        here = [one.stored for one in everything if one.nodes & set(session.names)]
        needed = _needed(here)
        found = caches(session)
        if unknown := _unknown(names, found):
            raise session.lost.error or UsageError(unknown)
        gone = {node: targets for node, about in found.items() if (targets := _gone(about, names, needed))}
        freed = sum(size for targets in gone.values() for size in targets.values())
        kept = sorted({name.model for name in names} & set(needed))
        document = {
            "models": {node: list(targets) for node, targets in gone.items()},
            "size_bytes": freed,
            "kept": kept,
            "unneeded": [] if names else _unneeded(found, gone, needed),
        }
        for node, targets in gone.items():
            for target, size in targets.items():
                what = " of partial downloads" if target.endswith("@") else ""
                report.note(f"{target.rstrip('@')}, {bytes_text(size)}{what}", node)
        wanted = bool(gone) and (options.yes or report.confirm("Remove these?"))
        if wanted:
            cache_of = {node.name: node.cache_dir for node in session.selected}
            execute(compile_prune({node: tuple(targets) for node, targets in gone.items()}, cache_of), session)
        users = [stored for stored in here if {one.model for one in stored.models} & {*kept}]
        refused = in_use(kept, users, (one.stored for one in everything)) if kept and not gone else None
        return session.answer({**document, "removed": wanted}, refused)


def caches(session: Session) -> dict[str, dict[str, Any]]:
    """Read the caches of all selected nodes; a node that does not answer joins `away`."""
    asked = {node.name: commands.listing(node.cache_dir) for node in session.selected}
    return {node: _result(node, result) for node, result in session.answers(asked).items()}


def follow(plan: Plan, session: Session, job: str) -> None:
    """Follow a job of the models' script; its log has the advice after a failure."""
    follow_job(plan, session, job, lambda error: _advice(session, error.node, job))


def results(session: Session, nodes: Iterable[str], job: str) -> dict[str, dict[str, Any]]:
    """Return the results of a successful job, by node."""
    asked: dict[str, Command] = {node: jobs.job_log(job, 5) for node in nodes}
    found = {}
    for node, result in session.ask(asked).items():
        if isinstance(result, NodeLost):
            raise unreachable(result)
        found[node] = _result(node, result)
    return found


def _result(node: str, result: Result) -> dict[str, Any]:
    return parsed(node, result.stdout, result.stderr.strip() or f"exit code {result.code}")


def parsed(node: str, text: str, otherwise: str = "") -> dict[str, Any]:
    """Return the JSON of the script's result line."""
    lines = [line.removeprefix(RESULT) for line in text.splitlines() if line.startswith(RESULT)]
    if not lines:
        raise StepFailed(f"{node}: cannot read its models: {last_lines(text) or otherwise}", node=node)
    found: dict[str, Any] = json.loads(lines[-1])
    return found


def _advice(session: Session, node: str | None, job: str) -> str:
    """Return the advice in the job's log; empty if there is none."""
    result = session.ask({node: jobs.job_log(job, 20)}).get(node) if node else None
    if not isinstance(result, Result):
        return ""
    lines = [line.removeprefix(NEXT) for line in result.stdout.splitlines() if line.startswith(NEXT)]
    return lines[-1] if lines else ""


def _wrong(name: ModelName, found: Mapping[str, Mapping[str, Any]]) -> SparkopsError | None:
    fetch = f"`sparkops model fetch {shlex.quote(str(name))}`"
    bad = [(node, one["problems"]) for node, one in found.items() if one["problems"]]
    if bad:
        node, problems = bad[0]
        first = ", ".join(map(_problem_text, problems[:3]))
        more = f" and {len(problems) - 3} more" if len(problems) > 3 else ""
        others = f"; other nodes with problems: {len(bad) - 1}" if len(bad) > 1 else ""
        nowhere = all(one["problems"] and one["problems"][0]["file"] == "*" for one in found.values())
        before = "copy the directory to one node, then: " if name.local and nowhere else ""
        return Refused(f"{node}: {name}: {first}{more}{others}", node=node, hint=before + fetch)
    revisions = {str(one["revision"]) for one in found.values()}
    if len(revisions) > 1:
        by_node = ", ".join(f"{node} {str(one['revision'])[:12]}" for node, one in found.items())
        return Refused(f"nodes have different revisions of {name}: {by_node}", hint=fetch)
    return None


def _problem_text(problem: Mapping[str, str]) -> str:
    """Return a problem as text; the file `*` means the whole model."""
    return problem["problem"] if problem["file"] == "*" else f"{problem['file']} ({problem['problem']})"


def _needed(revisions: Iterable[Stored]) -> dict[str, frozenset[str]]:
    """Return by model the revisions that a deployment or its rollback needs; "" means any revision."""
    found: dict[str, set[str]] = {}
    for stored in revisions:
        for name in stored.models:
            found.setdefault(name.model, set()).add(name.revision)
    return {model: frozenset(revisions) for model, revisions in found.items()}


def _unknown(names: Iterable[ModelName], found: Mapping[str, Mapping[str, Any]]) -> str:
    here = {one["model"] for about in found.values() for one in about["models"]}
    return next((f"no node has {n.model}{did_you_mean(n.model, here)}" for n in names if n.model not in here), "")


def _unneeded(
    found: Mapping[str, Mapping[str, Any]],
    gone: Mapping[str, Mapping[str, int]],
    needed: Mapping[str, frozenset[str]],
) -> list[dict[str, Any]]:
    """What stays although no deployment needs it, by node, the largest first: only its name removes it."""
    rows = []
    for node, about in found.items():
        for one in about["models"]:
            all_of_it = _gone({"models": [one]}, [model_name(one["model"])], needed)
            if size := sum(size for target, size in all_of_it.items() if target not in gone.get(node, {})):
                rows.append({"node": node, "model": one["model"], "size_bytes": size})
    return sorted(rows, key=lambda row: -row["size_bytes"])


def _gone(about: Mapping[str, Any], names: Iterable[ModelName], needed: Mapping[str, frozenset[str]]) -> dict[str, int]:
    """Return what to remove from a node, with sizes: of named models all that is unneeded, else leftovers."""
    wanted, gone = list(names), {}
    for one in about["models"]:
        keep = needed.get(one["model"], frozenset())
        named = [name for name in wanted if name.model == one["model"]]
        if wanted and not named:
            continue
        for revision in one["revisions"]:
            used = keep and ("" in keep or {revision["revision"], *revision["refs"]} & keep)
            asked = any(name.revision in ("", revision["revision"], *revision["refs"]) for name in named)
            if not used and (asked if named else not (revision["refs"] or revision["pinned"])):
                gone[f"{one['model']}@{revision['revision']}"] = revision["bytes"]
        if one["half"] and not (named and any(name.revision for name in named)):
            gone[f"{one['model']}@"] = one["half"]
    return gone
