"""A node's schedule as a document: whether it is installed, its last run, and its problem."""

import hashlib
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from sparkops.core import schedule as periods
from sparkops.core.facts import Drop, Facts, Scheduled, Sudo, Unread, known
from sparkops.remote.frame import script_text


def row(name: str, facts: Facts) -> dict[str, Any]:
    """Return a node's schedule as a document."""
    found = facts.schedule
    if isinstance(found, Unread):
        unknown = dict.fromkeys(("installed", "entry", "every_seconds", "when", "last"))
        return {"name": name, **unknown, "permitted": may(facts), "problem": found.reason, "hint": ""}
    now = None if isinstance(facts.clock, Unread) else facts.clock.seconds
    every = periods.every(found.line) if found.line and found.installed else None
    problem, hint = _problem(name, found, every, now)
    return {
        "name": name,
        "installed": found.installed,
        "entry": _entry(found.line, facts.home) if found.line else None,
        "every_seconds": every,
        "when": _when(found.line),
        "permitted": may(facts),
        "last": last_run(found.last, now),
        "problem": problem,
        "hint": hint,
    }


def is_set(facts: Facts, schedule: periods.Schedule) -> bool:
    """Return whether the node has this schedule, with the script of this version."""
    found = facts.schedule
    if isinstance(found, Unread) or not found.installed or not found.line:
        return False
    same = (periods.every(found.line), _when(found.line)) == (schedule.every, schedule.when and str(schedule.when))
    return same and found.script == _script_of_this_version()


def _script_of_this_version() -> str:
    return hashlib.sha256(script_text("cache").encode()).hexdigest()


PERMIT = "install the sudoers rule that allows it: `sparkops cache permit --ask-become-pass`"
CRON_HINT = "use the cron of this machine instead: let it run `sparkops cache drop --quiet`"
HALF_AN_HOUR = 1800


def again(like: Mapping[str, Any]) -> str:
    """How to set the schedule again on every node as one has it."""
    when = f" --when {shlex.quote(like['when'])}" if like.get("when") else ""
    minutes = (like.get("every_seconds") or HALF_AN_HOUR) // 60
    return f"set the schedule again on every node: `sparkops cache schedule --every {minutes}m{when}`"


def _problem(name: str, found: Scheduled, every: int | None, now: float | None) -> tuple[str, str]:
    """Return why the schedule does not work, and what to do; empty if it works."""
    ours = _script_of_this_version()
    line, last, silence = found.line or "", found.last, _silence(found, every, now)
    entry = line.lstrip("# ")
    reset = again({"every_seconds": periods.every(entry), "when": _when(entry)})
    look = f"see what cron does: `sparkops run --limit {name} -- systemctl status cron`"
    problems = (
        (bool(found.barred), f"the crontab cannot be used: {found.barred}", CRON_HINT),
        (line.startswith("#"), "the crontab entry is commented out", reset),
        (bool(line) and not found.script, "the script that the crontab entry runs is missing", reset),
        (
            bool(line) and found.script != ours,
            "the script on the node comes from another version of sparkops",
            reset,
        ),
        (found.installed and bool(silence), silence, look),
        (
            found.installed and last is not None and "no right" in last.how,
            f"the last run had no right to drop the page cache; {PERMIT}",
            PERMIT,
        ),
    )
    return next(((text, hint) for holds, text, hint in problems if holds), ("", ""))


def _silence(found: Scheduled, every: int | None, now: float | None) -> str:
    """Return for how long it has not run, if longer than two periods and a minute."""
    if every is None or now is None or found.since is None:
        return ""
    quiet = now - max(found.since, found.last.time if found.last else 0)
    return f"no scheduled run for {_spoken(quiet)}; check that cron runs on the node" if quiet > 2 * every + 60 else ""


def last_run(found: Drop | None, now: float | None) -> dict[str, Any] | None:
    if found is None:
        return None
    pairs = {"free_kib": found.free, "available_kib": found.available, "cached_kib": found.cached}
    sizes = {name: {"before": pair[0], "after": pair[1]} for name, pair in pairs.items()}
    ago = None if now is None or not found.time else max(0, round(now - found.time))
    return {"time": found.time or None, "seconds_ago": ago, "dropped": found.dropped, "how": found.how, **sizes}


def _entry(line: str, home: str) -> str:
    """Return the line with ~ for the home, to compare nodes."""
    return line.strip().replace(home, "~") if home else line.strip()


def _when(line: str | None) -> str | None:
    """Return the condition as the user wrote it."""
    try:
        words = shlex.split(line or "", comments=True)
        at = words.index("--when")
        return str(periods.When(words[at + 1], words[at + 2], int(words[at + 3])))
    except (ValueError, IndexError, StopIteration):
        return None


def plan(entry: Mapping[str, Any]) -> tuple[Any, ...] | None:
    """When the node's entry drops the cache; None without one. Nodes may have different model directories."""
    line = entry["entry"]
    return None if line is None else (line.split()[:5], entry["when"])


def odd(entry: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> tuple[str, str]:
    """Return how the node's entry differs from that of most nodes, and what to do; empty if it does not."""
    lines = [plan(other) for other in rows]
    most = max(lines, key=lines.count)
    works = [one for one in rows if one["every_seconds"]]
    like = next((one for one in works if plan(one) == most), next(iter(works), {}))
    if plan(entry) == most:
        return "", ""
    if most is None and 2 * lines.count(None) > len(lines):
        remove = f"remove it: `sparkops cache unschedule --limit {entry['name']}`"
        return "a crontab entry, but most nodes have none", remove
    if entry["entry"] is None:
        return "no crontab entry, but other nodes have one", again(like)
    return "the crontab entry differs from the entry on most nodes", again(like)


def may(facts: Facts) -> bool | None:
    """Return whether the login may drop the page cache; None if unknown."""
    if not isinstance(facts.id, Unread) and facts.id.uid == 0:
        return True
    if isinstance(facts.sudo, Sudo):
        return facts.sudo.drop_caches
    return False if known(facts.id, None) else None


def _spoken(seconds: float) -> str:
    minutes = seconds / 60
    return f"{minutes / 60:.0f} hours" if minutes > 120 else f"{minutes:.0f} minutes"
