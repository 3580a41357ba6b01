"""What the machine is and runs: kernel, release, boards, processors, packages, clock."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from sparkops.core.facts.raw import Probe, Unread
from sparkops.core.facts.reading import grouped, lines, number, pairs, tree


@dataclass(frozen=True)
class Kernel:
    hostname: str
    release: str
    machine: str


@dataclass(frozen=True)
class Dgx:
    """/etc/dgx-release. `platform` differs by vendor; `ota` is the last update of many, None before the first."""

    name: str
    pretty_name: str
    platform: str
    build: str
    ota: str | None


@dataclass(frozen=True)
class Cpu:
    architecture: str
    count: int
    models: tuple[str, ...]


@dataclass(frozen=True)
class Boot:
    id: str
    uptime_seconds: float | None


@dataclass(frozen=True)
class Driver:
    """The loaded NVIDIA kernel module, None when it is not loaded. `flavour` is its own line of words."""

    loaded: str | None
    flavour: str


@dataclass(frozen=True)
class Package:
    """`state` is dpkg's letters: what is wanted (`h` is hold), what is (`i` is whole), and an error if there is one."""

    version: str
    state: str

    @property
    def installed(self) -> bool:
        return self.state[1:] == "i"


@dataclass(frozen=True)
class HostKey:
    """An SSH host key by the fingerprint that `ssh-keygen -l` shows."""

    kind: str
    fingerprint: str


@dataclass(frozen=True)
class Reboot:
    required: bool
    packages: tuple[str, ...]


@dataclass(frozen=True)
class Clock:
    """Seconds since 1970 on the node when the probes began. `synchronized` is None where systemd does not do it."""

    seconds: float
    synchronized: bool | None


@dataclass(frozen=True)
class Avahi:
    """`announced` is the name that the mDNS daemon ended up with, None when it does not run."""

    hostname: str
    announced: str | None

    @property
    def conflict(self) -> bool:
        """Names have no case."""
        own = self.hostname.partition(".")[0].casefold()
        return bool(self.announced and own) and str(self.announced).casefold() != own


def uname(text: str) -> Kernel:
    words = text.split()
    machine = words[-2] if words[-1].endswith("Linux") and len(words) > 3 else words[-1]
    return Kernel(words[1], words[2], machine)


def dgx_release(text: str) -> Dgx:
    found = pairs(text)
    return Dgx(
        name=found.get("DGX_NAME", ""),
        pretty_name=found.get("DGX_PRETTY_NAME", ""),
        platform=found.get("DGX_PLATFORM", ""),
        build=found.get("DGX_SWBUILD_VERSION", ""),
        ota=found.get("DGX_OTA_VERSION"),
    )


def lscpu(text: str) -> Cpu:
    rows = (line.partition(":") for line in lines(text))
    found = grouped((key.strip(), value.strip()) for key, _, value in rows)
    architecture, count = found.get("Architecture", [""]), found.get("CPU(s)", ["0"])
    return Cpu(architecture[-1], int(count[-1]), tuple(found.get("Model name", ())))


def boot(text: str) -> Boot:
    found = pairs(text)
    uptime = found.get("uptime", "").split()
    return Boot(found.get("boot_id", ""), float(uptime[0]) if uptime else None)


def driver(text: str) -> Driver:
    found = re.search(r"^module=(\S+)$", text, re.M) or re.search(r"Kernel Module.*?\s(\d+\.[\d.]+)", text)
    flavour = next((line for line in lines(text) if line.startswith("NVRM")), "")
    return Driver(found[1] if found else None, flavour)


def packages(probe: Probe) -> Mapping[str, Package] | Unread:
    """`dpkg -l` exits 1 when one of the names is unknown; what it lists still counts."""
    if probe.exit > 1:
        return probe.unread
    found = {}
    for line in lines(probe.text):
        words = line.split()
        if re.fullmatch(r"[uihrp][a-zA-Z]{1,2}", words[0]) and len(words) > 2:
            found[words[1].partition(":")[0]] = Package(words[2], words[0])
    return found


def hostkeys(text: str) -> tuple[HostKey, ...]:
    rows = (line.split() for line in lines(text))
    return tuple(HostKey(row[-1].strip("()"), row[1]) for row in rows if len(row) > 2 and ":" in row[1])


def reboot_required(text: str) -> Reboot:
    first, *rest = lines(text)
    return Reboot(first == "yes", tuple(rest))


def clock(text: str) -> Clock:
    first = next(lines(text))
    told = pairs(text).get("synchronized", "")
    return Clock(float(first.removesuffix(".N").removesuffix(".%N")), {"yes": True, "no": False}.get(told))


def avahi(text: str) -> Avahi:
    found = pairs(text)
    announced = re.search(r"\[([^\]]+?)(?:\.local)?\.?\]", found.get("daemon", ""))
    return Avahi(found.get("hostname", ""), announced[1] if announced else None)


def markers(text: str) -> frozenset[str]:
    return frozenset(lines(text))


def active(probe: Probe) -> bool | Unread:
    """Whether systemd says `active`; a unit that is unknown or stopped is not."""
    word = probe.text.strip().splitlines()[-1:] or [""]
    if word[0] in ("active", "inactive", "failed", "unknown", "activating", "deactivating", "reloading"):
        return word[0] == "active"
    return probe.unread


def machine_id(text: str) -> str:
    return next(lines(text))


def yes(text: str) -> bool:
    return text.strip() == "yes"


def target(text: str) -> str:
    """The name of the systemd target that a link names."""
    return text.strip().rpartition("/")[2]


def listed(text: str) -> tuple[str, ...]:
    return tuple(lines(text))


def locale(text: str) -> Mapping[str, str]:
    """Language variables: those of the connection, else the system's own."""
    first, _, rest = text.partition("\n")
    session = dict(word.split("=", 1) for word in first.split() if "=" in word)
    return pairs(rest) | {key: value for key, value in session.items() if value}


def temperatures(text: str) -> tuple[float, ...]:
    """°C of every thermal zone that can be read; that of a radio that is off cannot."""
    found = (number(value) for path, value in tree(text).items() if path.endswith("/temp"))
    return tuple(value / 1000 for value in found if value is not None)
