"""One frame of what `node/watch.sh` prints, as a value."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Annotated, Any

from sparkops.core.facts import Drop, Facts, JobFact, Unread, access, containers, known, schedule
from sparkops.core.facts.containers import State
from sparkops.core.facts.probes import NOT_ASKED, parsers, values
from sparkops.core.facts.raw import parts, read
from sparkops.core.facts.reading import ok, tree
from sparkops.core.fleet.usage import DayOfUse, last_day
from sparkops.core.watch.engine import Engine, engine

_SEEN = re.compile(
    r"(?P<id>[0-9a-f]{12,64}) (?P<state>[a-z]+) (?P<restarts>\d{1,9}) (?P<started>\S+) (?P<oom>true|false)"
    r" /?(?P<name>[\w.-]+) (?P<hash>[0-9a-f]*) (?P<role>\S*) (?P<deployment>\S*)"
)
_WHOLE = re.compile(r"\d{1,20}", re.ASCII)
_COUNTER = 4
"""The kernel counts the data of an InfiniBand port in units of four bytes."""


@dataclass(frozen=True)
class Device:
    """An RDMA device: its interface, whether its port is active, and the bytes that it carried since it came up."""

    name: str
    interface: str
    active: bool
    gbits: float | None
    received: int | None
    sent: int | None


@dataclass(frozen=True)
class Seen:
    """A container; `hash`, `role` and `deployment` are empty for those of others."""

    id: str
    name: str
    state: State
    restarts: int
    started_at: str
    oom_killed: bool
    hash: str
    role: str
    deployment: str


def moment(text: str) -> float:
    """From hundredths of a second."""
    return int(text) / 100


def devices(text: str) -> tuple[Device, ...]:
    found = tree(text)
    interfaces = {path.split("/")[0]: path.rpartition("/")[2] for path in found if "/device/net/" in path}
    names = dict.fromkeys(path.split("/")[0] for path in found)
    return tuple(_device(name, interfaces.get(name, ""), found) for name in names)


def _device(name: str, interface: str, found: Mapping[str, str]) -> Device:
    def told(file: str) -> str:
        return found.get(f"{name}/ports/1/{file}", "")

    def carried(file: str) -> int | None:
        text = told(f"counters/{file}")
        return int(text) * _COUNTER if _WHOLE.fullmatch(text) else None

    rate = re.match(r"\d{1,5}(\.\d+)?", told("rate"))
    active = told("state").endswith("ACTIVE")
    speed = float(rate[0]) if rate else None
    return Device(name, interface, active, speed, carried("port_rcv_data"), carried("port_xmit_data"))


def stall(text: str) -> Mapping[str, float]:
    """Percent of the last 10 seconds in which some task waited, by resource: cpu, io, memory."""
    shares = {name: re.search(r"avg10=(\d{1,3}\.\d+)", line) for name, line in tree(text).items()}
    return {name: float(share[1]) for name, share in shares.items() if share}


def busy(text: str) -> bool:
    return text.strip() == "yes"


def seen(text: str) -> tuple[Seen, ...]:
    found = (_SEEN.fullmatch(line) for line in text.split("\n"))
    return tuple(_seen(one) for one in found if one)


def _seen(found: re.Match[str]) -> Seen:
    started = "" if found["started"] == containers.NEVER else found["started"]
    return Seen(
        found["id"],
        found["name"],
        containers.state_named(found["state"]),
        int(found["restarts"]),
        started,
        found["oom"] == "true",
        found["hash"],
        found["role"],
        found["deployment"],
    )


def engines(text: str) -> Mapping[str, Engine]:
    """By container."""
    return {part.name: engine(part.text) for part in parts(text)}


def jobs(text: str) -> tuple[JobFact, ...]:
    return tuple(map(access.job, parts(text)))


def usage(text: str) -> Mapping[str, DayOfUse]:
    """By endpoint."""
    return {part.name: last_day(part.text) for part in parts(text)}


_MAY_BE_LATE = ("seen", "carried")
"""Probes whose failure says nothing of what they read: Docker may be slow while weights load."""


@dataclass(frozen=True, kw_only=True)
class WatchFrame(Facts):
    """Facts of which most are not in every frame, and beside them what only changes over time shows.

    `moment` is the time since the node's boot in seconds; `busy` whether a run of sparkops holds the node's lock.
    """

    moment: Annotated[float | Unread, ok(moment)]
    busy: Annotated[bool | Unread, ok(busy)]
    stall: Annotated[Mapping[str, float] | Unread, ok(stall)]
    carried: Annotated[tuple[Device, ...] | Unread, ok(devices)]
    engines: Annotated[Mapping[str, Engine] | Unread, ok(engines)]
    seen: Annotated[tuple[Seen, ...] | Unread, ok(seen)]
    drops: Annotated[tuple[Drop, ...] | Unread, ok(schedule.drops)]
    jobs: Annotated[tuple[JobFact, ...] | Unread, ok(jobs)]
    usage: Annotated[Mapping[str, DayOfUse] | Unread, ok(usage)]

    def after(self, before: Facts | None) -> "WatchFrame":
        """This frame with older values where this one was not asked for them, or could not read what may be late."""
        return self if before is None else replace(self, **_asked(before, self._older))

    def _older(self, name: str) -> bool:
        value = getattr(self, name)
        return value is NOT_ASKED or (name in _MAY_BE_LATE and isinstance(value, Unread))

    def with_facts(self, facts: Facts) -> "WatchFrame":
        """This frame with what was read anew beside it."""
        return replace(self, **_asked(facts, lambda _: True))

    @property
    def asked_docker(self) -> bool:
        """Whether this frame has what Docker runs now, if it was not merged with an older one."""
        return not isinstance(self.seen, Unread)

    @property
    def uptime(self) -> float | None:
        """Seconds since the boot: a clock that nobody sets."""
        return known(self.moment, None)


_PARSERS = parsers(WatchFrame)
_NAMES = [one.name for one in fields(WatchFrame) if one.name != "took_seconds"]


def _unasked(facts: Facts, name: str) -> bool:
    return getattr(facts, name, NOT_ASKED) is NOT_ASKED


def _asked(facts: Facts, wanted: Callable[[str], bool]) -> dict[str, Any]:
    """The wanted ones of the values that these facts were asked for, by name."""
    return {name: getattr(facts, name) for name in _NAMES if wanted(name) and not _unasked(facts, name)}


def frame(text: str) -> WatchFrame:
    """Raises Unreadable for a text that is no frame at all."""
    return WatchFrame(**values(_PARSERS, read(text)))
