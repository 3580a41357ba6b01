"""Who we are on the node, what we may do there, and what sparkops left: lock, orphan notes, jobs, key."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from sparkops.core.facts.raw import Probe, Unread, parts
from sparkops.core.facts.reading import lines, number, pairs
from sparkops.core.notes import NodeHistory, notes

_HUNG = re.compile(r"images/([0-9a-f]+)\.graphs-hung")
_GATEWAY = re.compile(r"gateways/([^/]+)/(?:routes\.json|proxy\.yml)")
_ENGINE_KEY = re.compile(r"gateways/([^/]+)/keys/([^/]+)")
_PEOPLE = re.compile(r"people/([^/]+)/keys\.json")
_PAGE_KEY = re.compile(r"pages/([^/]+)/key")
_ON_DEMAND = re.compile(r"gateways/([^/]+)/ondemand/([^/]+)")
_ADMITTED = re.compile(r"ondemand/([^/]+)")
_ACT = re.compile(r"@ (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)Z (start|stop) ([\w.-]+)", re.ASCII)


@dataclass(frozen=True)
class User:
    uid: int
    name: str
    gid: int
    groups: tuple[str, ...]
    home: str


@dataclass(frozen=True)
class Sudo:
    """`able`: any command without a password. `drop_caches`: at least the one line that empties the page cache."""

    able: bool
    drop_caches: bool
    said: str


@dataclass(frozen=True)
class Owned:
    path: str
    uid: int
    gid: int
    mode: str


@dataclass(frozen=True)
class Disk:
    """Free space for a path. Sizes are KiB; `path` need not exist yet."""

    path: str
    mount: str
    total_kib: int
    free_kib: int


@dataclass(frozen=True)
class Lock:
    """`owner` is what the holder wrote (run, user, machine, pid, since); it may be left over when `held` is False.

    `history` has the last deploys with their durations, then the last notes of runs that held the lock.
    """

    held: bool
    owner: Mapping[str, Any] | None
    history: NodeHistory = NodeHistory()


@dataclass(frozen=True)
class Orphan:
    """A note that a container may still run on another node, which could not be reached to remove it."""

    name: str
    path: str
    address: str
    deployment: str
    container: str


@dataclass(frozen=True)
class JobFact:
    """A background job. `exit` is None while it runs, or if it died without writing its exit code."""

    id: str
    pid: int | None
    alive: bool
    exit: int | None
    command: str


@dataclass(frozen=True)
class Left:
    """Content of sparkops' own folder. `keys` are SHA-256 digests by file name; a key itself is never read.

    `graphs_hung` are the IDs of images with which CUDA graphs hung; `gateways` are the routes of fleets' endpoints by
    the name of their folder, `gateway_keys` the digests of the keys there by folder and file, and `people` the
    files of people's keys by endpoint. `page_keys` are the digests of the keys of pages, by page. `on_demand` are the
    files for deployments on demand by folder and name, and `admitted` what endpoints may do on this node, by endpoint.
    """

    orphans: tuple[Orphan, ...]
    jobs: tuple[JobFact, ...]
    keys: Mapping[str, str]
    manifest: str | None
    graphs_hung: tuple[str, ...] = ()
    gateways: Mapping[str, str] = field(default_factory=dict)
    gateway_keys: Mapping[tuple[str, str], str] = field(default_factory=dict)
    people: Mapping[str, str] = field(default_factory=dict)
    page_keys: Mapping[str, str] = field(default_factory=dict)
    on_demand: Mapping[tuple[str, str], str] = field(default_factory=dict)
    admitted: Mapping[str, "Admitted"] = field(default_factory=dict)


@dataclass(frozen=True)
class Admitted:
    """A fleet's endpoint may start and stop `containers`, each with its deployment, with the key in `line`.

    `program` is the digest of what the key runs, `acts` are the last things that it did.
    """

    line: str
    program: str
    containers: Mapping[str, str]
    acts: tuple["Switched", ...] = field(default=(), compare=False)


@dataclass(frozen=True, order=True)
class Switched:
    """An endpoint has started or stopped a container of a deployment; `at` is in UTC."""

    at: str
    verb: str
    deployment: str


def user(text: str) -> User:
    found = re.search(r"uid=(\d+)(?:\(([^)]*)\))? gid=(\d+)", text)
    if found is None:
        raise ValueError(next(lines(text), "nothing was printed"))
    groups = re.search(r"groups=(\S+)", text)
    names = re.findall(r"\d+\(([^)]*)\)", groups[1]) if groups else []
    return User(int(found[1]), found[2] or found[1], int(found[3]), tuple(names), pairs(text).get("home", ""))


def sudo(probe: Probe) -> Sudo | Unread:
    first, _, rest = probe.text.partition("\n")
    word, _, said = first.partition(" ")
    code, _, message = said.partition(" ")
    if word != "true":
        return probe.unread
    if code == "127":
        return Unread("sudo is not installed")
    able = code == "0"
    listed = re.search(r"NOPASSWD:.*(tee\S* /proc/sys/vm/drop_caches|\bALL\s*$)", rest, re.M)
    return Sudo(able, able or listed is not None, message or rest.strip())


def owned(text: str) -> tuple[Owned, ...]:
    rows = (line.split(" ", 3) for line in lines(text))
    return tuple(Owned(row[3], int(row[0]), int(row[1]), row[2]) for row in rows if len(row) == 4)


def disks(text: str) -> Mapping[str, Disk]:
    """By use: `home`, `cache`, `docker`. `df` prints one row for each path, in the order of its arguments."""
    first = list(lines(text))
    asked = [line.partition(" ") for line in first if line.startswith(("home ", "cache ", "docker "))][:3]
    rows = [
        found
        for line in first
        if (found := re.fullmatch(r".+?\s+(\d{1,18})\s+\d+\s+(\d{1,18})\s+(?:\d+%|-)\s+(.+)", line))
    ]
    if len(rows) != len(asked) or not rows:
        raise ValueError("df did not answer for every path")
    pairs_ = zip(asked, rows, strict=True)
    return {use: Disk(path, row[3], int(row[1]), int(row[2])) for (use, _, path), row in pairs_}


def lock(text: str) -> Lock:
    first, _, rest = text.partition("\n")
    told, _, history = rest.partition("\n")
    try:
        owner = json.loads(told)
    except (ValueError, RecursionError):
        owner = None
    found = owner if isinstance(owner, Mapping) else {}
    held = first == "held yes"
    return Lock(held, found or None, NodeHistory(notes(history), str(found.get("run")) if held else None))


def left(text: str) -> Left:
    found = parts(text)
    folder = next((part.text for part in found if part.name == "folder"), "")
    keys = [part for part in found if part.name == "key" or part.name.startswith("keys/")]
    return Left(
        orphans=tuple(orphan for part in found if (orphan := _orphan(part, folder)) is not None),
        jobs=tuple(job(part) for part in found if part.name.startswith("jobs/")),
        keys={part.name.removeprefix("keys/"): part.text.split()[0] for part in keys if part.text.strip()},
        manifest=next((part.text for part in found if part.name == "manifest"), None),
        graphs_hung=tuple(f"sha256:{image[1]}" for part in found if (image := _HUNG.fullmatch(part.name))),
        gateways={name: part.text for (name,), part in _named(_GATEWAY, found)},
        gateway_keys={(folder, name): part.text.split()[0] for (folder, name), part in _named(_ENGINE_KEY, found)},
        people={name: part.text for (name,), part in _named(_PEOPLE, found)},
        page_keys={name: part.text.split()[0] for (name,), part in _named(_PAGE_KEY, found)},
        on_demand={(folder, name): part.text for (folder, name), part in _named(_ON_DEMAND, found)},
        admitted={name: admitted(part.text) for (name,), part in _named(_ADMITTED, found)},
    )


def admitted(text: str) -> Admitted:
    line, program, *named = (*text.split("\n"), "", "")
    rows = [one.split() for one in named]
    acts = (found.groups() for one in named if (found := _ACT.fullmatch(one)))
    return Admitted(
        line, program, {one[0]: one[1] for one in rows if len(one) == 2}, tuple(Switched(*one) for one in acts)
    )


def _named(form: re.Pattern[str], found: Iterable[Probe]) -> Iterator[tuple[tuple[str, ...], Probe]]:
    """The parts with text whose name has this form, and what the form's groups have found."""
    return ((name.groups(), part) for part in found if part.text.strip() and (name := form.fullmatch(part.name)))


def _orphan(part: Probe, folder: str) -> Orphan | None:
    words = part.text.split()
    if not part.name.startswith("orphans/") or len(words) != 3:
        return None
    return Orphan(part.name.removeprefix("orphans/"), f"{folder}/{part.name}", *words)


def job(part: Probe) -> JobFact:
    found = pairs(part.text)
    return JobFact(
        id=part.name.removeprefix("jobs/"),
        pid=number(found.get("pid", "")),
        alive=found.get("alive") == "yes",
        exit=number(found.get("rc", "")),
        command=found.get("cmd", ""),
    )
