"""Crontab, sudoers and manifest of a simulated node: what `schedule`, `sudoers` and `manifest` do there."""

import hashlib
import json
import shlex

from sparkops.core.facts.raw import write_parts
from sparkops.core.plan import Result, Word
from sparkops.node_commands import ondemand
from sparkops.remote.frame import script_text
from sparkops.testing.jobs import Timed
from sparkops.testing.node import EPOCH, SimulatedNode, said

MARK = "# sparkops: cache schedule"
CRONTAB = "/var/spool/cron/crontabs/nvidia"

AVAILABLE_KIB, FREE_KIB = 115 * 1024 * 1024, 110 * 1024 * 1024
"""MemAvailable, and MemFree while nothing is cached."""
LEFT_KIB = 500_000


def cache(node: SimulatedNode, words: tuple[Word, ...], _stdin: str) -> Result:
    if words[0] != "drop":
        return said()
    cached, node.cached_kib = node.cached_kib, min(node.cached_kib, LEFT_KIB)
    free = f"MemFree {FREE_KIB - cached} -> {FREE_KIB - node.cached_kib}"
    sizes = f"{free}, MemAvailable {AVAILABLE_KIB} -> {AVAILABLE_KIB}, Cached {cached} -> {node.cached_kib} KiB"
    return said(f"page cache dropped (everything): {sizes}\n")


def work(node: SimulatedNode, _job: str, words: tuple[str, ...]) -> Timed:
    """`cache watch NAME BELOW SECONDS HEALTH`, a job: it ends when the engine is up or gone."""

    def loading() -> bool:
        one = node.engine.containers.get(words[1])
        return not node.answers(words[4]) and one is not None and one.running and not one.gave_up

    return Timed(node.now, lambda _log: 0, held=loading)


def schedule(node: SimulatedNode, words: tuple[Word, ...], _stdin: str) -> Result:
    """`schedule set TIMES KEY OP KIB DIR @cache`, `schedule remove`, `schedule log LINES`."""
    verb, given = str(words[0]), [str(word) for word in words[1:6]]
    if verb == "log":
        return said(node.files.get(f"{node.state_dir}/cache/log", ""))
    others = [line for line in node.files.get(CRONTAB, "").splitlines(keepends=True) if not line.endswith(f"{MARK}\n")]
    if verb == "set":
        when = f" --when {' '.join(given[1:4])}" if given[1] else ""
        folder = f" --dir {shlex.quote(given[4])}" if given[4] else ""
        others.insert(0, f"{given[0]} /bin/sh {_script(node)} scheduled{when}{folder} {MARK}\n")
        if node.files.get(_script(node)) != script_text("cache"):
            node.files[_script(node)], node.times[_script(node)] = script_text("cache"), node.now
        record(node, f"folder {node.state_dir}/cache")
        record(node, "crontab cache schedule")
    else:
        node.files.pop(_script(node), None)
    node.files[CRONTAB] = "".join(others)
    if not others:
        del node.files[CRONTAB]
    return said("set\n" if verb == "set" else "removed\n")


def sudoers(node: SimulatedNode, words: tuple[Word, ...], _stdin: str) -> Result:
    """`sudoers write FILE LINE`, `sudoers remove FILE`, `sudoers check`."""
    verb = str(words[0])
    if verb == "write":
        node.files[str(words[1])], node.modes[str(words[1])] = f"{words[2]}\n", "440"
    elif verb == "remove":
        node.files.pop(str(words[1]), None)
    elif not any("NOPASSWD" in text for path, text in node.files.items() if path.startswith("/etc/sudoers.d/")):
        return said(code=1, errors="sudo: a password is required\n")
    return said()


def switch(node: SimulatedNode, words: tuple[Word, ...], stdin: str) -> Result:
    """`switch open STATE_DIR GATEWAY ADDRESSES CACHE_DIR answer cache [NAME DEPLOYMENT]...`, `switch close ...`.

    The file of containers has all that a look at the folder tells.
    """
    verb, _, gateway = map(str, words[:3])
    path = f"{node.state_dir}/ondemand/{gateway}/containers"
    if verb == "close":
        node.files.pop(path, None)
        return said()
    origins, cache, _, _, *named = map(str, words[3:])
    program = script_text("answer") + script_text("cache") + cache
    line = ondemand.line(gateway, origins.split(","), stdin)
    pairs = (f"{name} {deployment}" for name, deployment in zip(named[::2], named[1::2], strict=True))
    node.files[path] = "\n".join([line, hashlib.sha256(program.encode()).hexdigest(), *pairs])
    return said()


def manifest(node: SimulatedNode, words: tuple[Word, ...], _stdin: str) -> Result:
    """`manifest add|forget KIND WHAT`, `manifest clean [--keep KIND...]`."""
    if words[0] == "add":
        record(node, f"{words[1]} {words[2]}")
        return said()
    path = f"{node.state_dir}/manifest"
    if words[0] == "forget":
        node.files[path] = node.files.get(path, "").replace(f"{words[1]} {words[2]}\n", "")
        return said()
    kept = [line for line in node.files.get(path, "").splitlines() if line.partition(" ")[0] in words[2:]]
    for name in [name for name in node.files if name.startswith(f"{node.state_dir}/")]:
        del node.files[name]
    if kept:
        node.files[path] = "\n".join(["sparkops-manifest 1", *kept, ""])
    node.jobs.clear()
    return said()


def record(node: SimulatedNode, entry: str) -> None:
    """Add an entry to the manifest, unless it is there."""
    path = f"{node.state_dir}/manifest"
    text = node.files.get(path) or "sparkops-manifest 1\n"
    node.files[path] = text if entry in text.splitlines() else f"{text}{entry}\n"


def note(node: SimulatedNode, line: str) -> None:
    """What `lock` does with a line: only a begin makes the file."""
    path = f"{node.state_dir}/history"
    if path not in node.files and '"event":"begin"' in line:
        record(node, f"file {path}")
        node.files[path] = ""
    if path in node.files:
        node.files[path] += f"{line}\n"


def locked(node: SimulatedNode, lines: int) -> str:
    """The payload of the probe `lock`: the last deploys and rollbacks, then so many lines of the history."""
    owner = json.dumps({**node.owner, "run": node.lock}) if node.lock else ""
    kept = node.files.get(f"{node.state_dir}/history", "").splitlines()
    loads = [line for line in kept if '"load":' in line][-20:]
    loads += [line for line in kept if '"started":' in line][-5:]
    loads += [line for line in kept if '"settled":' in line][-40:]
    return "\n".join([f"held {'yes' if node.lock else 'no'}", owner, *loads, *kept[-lines:]])


def captured(node: SimulatedNode) -> str:
    """The payload of the probe `schedule`."""
    table = node.files.get(CRONTAB)
    ours = "".join(line for line in (table or "").splitlines(keepends=True) if f"{MARK}\n" in line)
    parts = {"crontab": (1, "no crontab for nvidia") if table is None else (0, ours.rstrip("\n"))}
    if text := node.files.get(_script(node)):
        placed = EPOCH + node.times.get(_script(node), 0.0)
        parts["script"] = (0, f"{hashlib.sha256(text.encode()).hexdigest()}  - {int(placed)}")
    if log := node.files.get(f"{node.state_dir}/cache/log"):
        parts["log"] = (0, log.splitlines()[-1])
    return write_parts(parts)


def _script(node: SimulatedNode) -> str:
    return f"{node.state_dir}/cache/drop.sh"
