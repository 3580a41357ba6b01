"""What a preflight tries: pings over the fabric, and a container with the GPU (`node/peers.sh`)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from sparkops.core.facts.raw import Unread, parts

HEADER = "sparkops-peers 1"


@dataclass(frozen=True)
class Ping:
    """A ping of one peer over one interface. `small`: whether a second, short packet was answered; None without one."""

    interface: str
    address: str
    size: int
    answered: bool
    said: str
    small: bool | None = None

    @property
    def reached(self) -> bool:
        return self.answered or self.small is True


@dataclass(frozen=True)
class Peers:
    """`gpu` is the output of nvidia-smi in a container, Unread if that failed, None if it was not tried.

    `heard` are the link-local IPv6 addresses that answered, each with this node's interface. `lldp` has by interface
    the name and the port of what is at the other end, if lldpd runs and was told.
    """

    pings: tuple[Ping, ...]
    gpu: str | Unread | None = None
    heard: tuple[tuple[str, str], ...] = ()
    lldp: Mapping[str, str] = field(default_factory=dict)


def peers(text: str) -> Peers | Unread:
    """`-- EXIT BYTES ping INTERFACE ADDRESS SIZE`, `-- … small INTERFACE ADDRESS`, `hear INTERFACE`, `lldp`, `gpu`."""
    header, _, rest = text.partition("\n")
    if header.strip() != HEADER:
        return Unread(f"unexpected output of the script that tests the links: {header[:60]!r}")
    whole, small, heard, gpu = list[Ping](), dict[tuple[str, str], bool](), list[tuple[str, str]](), None
    told: Mapping[str, str] = {}
    for part in parts(rest):
        words = part.name.split()
        last = next((line.strip() for line in reversed(part.text.splitlines()) if line.strip()), "")
        if words[0] == "ping" and len(words) == 4 and words[3].isdigit():
            whole.append(Ping(words[1], words[2], int(words[3]), part.exit == 0, _said(part.text) or last))
        elif words[0] == "small" and len(words) == 3:
            small[words[1], words[2]] = part.exit == 0
        elif words[0] == "hear" and len(words) == 2:
            heard += ((words[1], line) for line in map(str.strip, part.text.splitlines()) if line.startswith("fe80:"))
        elif words[0] == "lldp":
            told = _neighbours(part.text)
        elif words[0] == "gpu":
            error = next((line.strip() for line in part.text.splitlines() if "rror" in line), last)
            gpu = (
                part.text.strip() if part.exit == 0 else Unread(f"{error or 'nothing was printed'} (exit {part.exit})")
            )
    found = (replace(ping, small=small.get((ping.interface, ping.address))) for ping in whole)
    pings = tuple(sorted(found, key=lambda ping: (ping.interface, ping.address)))
    return Peers(pings, gpu, tuple(sorted(heard)), told)


def _neighbours(text: str) -> dict[str, str]:
    """`lldpcli -f keyvalue` after this node's own name: the two interfaces of a port hear each other, too."""
    own, _, rest = text.partition("\n")
    found: list[tuple[str, dict[str, str]]] = []
    for interface, key, value in re.findall(r"^lldp\.([^=]+?)\.(via|chassis\.name|port\.\w+)=(.*)$", rest, re.M):
        if key == "via" or not found:
            found.append((interface, {}))
        found[-1][1][key] = value.strip()
    return {
        interface: f"{about['chassis.name']} {about.get('port.ifname') or about.get('port.descr', '')}".strip()
        for interface, about in reversed(found)  # of several, the first one counts
        if about.get("chassis.name", own).partition(".")[0] != own.partition(".")[0]
    }


def _said(text: str) -> str:
    """The line that says why: an error message, else the one about packet loss."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = [line for line in lines if "error" in line or "Unreachable" in line or "not found" in line]
    return next(iter(telling), next((line for line in lines if "packet loss" in line), ""))
