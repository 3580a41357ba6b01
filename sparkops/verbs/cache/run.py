"""`cache`: drop the page cache, schedule that by cron, show the schedule, install the sudoers rule."""

from dataclasses import replace
from typing import Any

from sparkops.core.facts import Facts, Unread
from sparkops.core.facts.schedule import drop as read_drop
from sparkops.core.plan import Command, NodeLost, Result, Script
from sparkops.core.printable import last_lines
from sparkops.core.target import ConfirmOptions, NodesOptions
from sparkops.errors import Refused, StepFailed
from sparkops.node_commands import caches
from sparkops.phases.cache import SUDOERS, WantedSchedule, compile_permit, compile_schedule, sudoers_line
from sparkops.remote.gather import gather
from sparkops.report.answer import Answer
from sparkops.report.report import Report
from sparkops.session.execute import attempt
from sparkops.session.open import alone, connected, selected
from sparkops.session.session import Session
from sparkops.verbs.cache.options import DropOptions, ScheduleOptions
from sparkops.verbs.cache.schedule import CRON_HINT, PERMIT, last_run, may, odd, plan, row

READ = "clock,id,sudo,schedule"
"""The probes that these verbs need."""

SUDO_HINT = "add --ask-become-pass, or write the rule above as root"
NOTHING = "the login user is not allowed to drop the page cache, and the node has no model files"


def drop(options: DropOptions, report: Report) -> Answer:
    """Drop the page cache on all selected nodes at once. Takes no lock: it is safe while a server runs."""
    with connected(alone(selected(options.where, report, quiet=options.quiet)), report) as session:
        commands = {node.name: caches.drop(node.cache_dir) for node in session.there}
        if session.sudo_password:
            commands = {name: replace(c, become=True) if name in session.sudo else c for name, c in commands.items()}
        rows = [_dropped(name, result) for name, result in {**gather(session.fleet, commands), **session.lost}.items()]
        rows = sorted(rows, key=lambda row: session.names.index(row["name"]))
        error = session.lost.error or _first_failure(rows)
        return Answer({"nodes": rows, "quiet": options.quiet}, error=error)


def schedule(options: ScheduleOptions, report: Report) -> Answer:
    """Write or remove our entry in each node's crontab; other entries stay."""
    when = options.schedule.when if options.schedule else None
    if when and when.field == "MemAvailable":
        report.warn("MemAvailable counts the page cache as free, so a full page cache does not lower it: use MemFree")
    with connected(alone(selected(options.where, report)), report) as session:
        names = [node.name for node in session.there]
        session.lock(names)
        before = look(session)
        names = [name for name in names if name in before]
        wanted = [WantedSchedule(name, options.schedule, session.nodes[name].cache_dir) for name in names]
        error = attempt(compile_schedule(wanted), session, CRON_HINT) if wanted else None
        after = look(session)
        rows = [
            {**row(name, after[name]), "changed": _differs(before[name], after[name])}
            for name in names
            if name in after
        ]
        for entry in rows:
            if options.schedule and entry["installed"] and entry["permitted"] is False:
                message = "the login user is not allowed to drop the page cache, only the pages of model files"
                session.report.warn(f"{message}: {PERMIT}", entry["name"])
        changed = any(entry["changed"] for entry in rows)
        return session.answer({"nodes": rows, "changed": changed}, error)


def status(options: NodesOptions, report: Report) -> Answer:
    """Show whether the schedule is installed, equal on all nodes, and working."""
    with connected(alone(selected(options.where, report)), report) as session:
        found = look(session)
        rows = [row(name, facts) for name, facts in found.items()]
        same = all(plan(entry) == plan(rows[0]) for entry in rows)
        for entry in rows:
            if not same and not entry["problem"]:
                entry["problem"], entry["hint"] = odd(entry, rows)
        trouble = [f"{entry['name']}: {entry['problem']}" for entry in rows if entry["problem"]]
        error = None
        if trouble:
            first = next(entry for entry in rows if entry["problem"])
            error = StepFailed(trouble[0], hint=first["hint"])
        return session.answer({"nodes": rows, "same": same}, error)


def permit(options: ConfirmOptions, report: Report) -> Answer:
    """Show the sudoers rule, and after a confirmation write it where it is missing."""
    with connected(alone(selected(options.where, report)), report) as session:
        return _permit(options, session)


def _permit(options: ConfirmOptions, session: Session) -> Answer:
    session.require(node.name for node in session.selected)
    found = look(session)
    session.require(node.name for node in session.selected)
    lacking = {name: facts for name, facts in found.items() if not may(facts)}
    lines = [{"name": name, "file": SUDOERS, "line": sudoers_line(facts)} for name, facts in lacking.items()]
    for entry in lines:
        session.report.note(f"{entry['file']}: {entry['line']}", entry["name"])
    if not lacking:
        return Answer({"nodes": lines, "changed": False})
    if not options.yes and not session.report.confirm("Let visudo check this rule, and install it (mode 0440)?"):
        raise Refused("nothing was written: nobody answered yes on a terminal", hint="write without asking: --yes")
    if session.lock(lacking):
        return _permit(options, session)
    error = attempt(compile_permit(lacking), session, SUDO_HINT)
    return Answer({"nodes": lines, "changed": error is None}, error=error)


def look(session: Session) -> dict[str, Facts]:
    """Read the facts that these verbs need."""
    ask = Command((Script("facts"), "--only", READ), reads=True)
    return session.read({node.name: ask for node in session.selected})


def _dropped(name: str, result: Result | NodeLost) -> dict[str, Any]:
    if isinstance(result, NodeLost):
        return {"name": name, "dropped": False, "reachable": False, "problem": result.reason}
    found = read_drop(result.stdout) if result.ok else None
    if found is None:
        text = last_lines(result.stderr or result.stdout) or f"exit code {result.code}"
        return {"name": name, "dropped": False, "reachable": True, "problem": f"the page cache was not dropped: {text}"}
    freed = found.free[1] - found.free[0]
    shown = {"name": name, "reachable": True, "freed_kib": freed, **(last_run(found, None) or {})}
    problem = "" if found.dropped else NOTHING
    return {**shown, "problem": problem}


def _differs(before: Facts, after: Facts) -> bool:
    shapes = [None if isinstance(s, Unread) else (s.line, s.script) for s in (before.schedule, after.schedule)]
    return shapes[0] != shapes[1]


def _first_failure(rows: list[dict[str, Any]]) -> StepFailed | None:
    failed = [one for one in rows if one["problem"]]
    if not failed:
        return None
    name = failed[0]["name"]
    return StepFailed(f"{name}: {failed[0]['problem']}", node=name, hint=PERMIT)
