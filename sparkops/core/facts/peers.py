"""What a preflight tries: pings over the fabric, and a container with the GPU (`node/peers.sh`)."""

from dataclasses import dataclass, replace

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

    `heard` are the link-local IPv6 addresses that answered, each with this node's interface.
    """

    pings: tuple[Ping, ...]
    gpu: str | Unread | None = None
    heard: tuple[tuple[str, str], ...] = ()


def peers(text: str) -> Peers | Unread:
    """`-- EXIT BYTES ping INTERFACE ADDRESS SIZE`, `-- … small INTERFACE ADDRESS`, `hear INTERFACE`, `gpu`."""
    header, _, rest = text.partition("\n")
    if header.strip() != HEADER:
        return Unread(f"unexpected output of the script that tests the links: {header[:60]!r}")
    whole, small, heard, gpu = list[Ping](), dict[tuple[str, str], bool](), list[tuple[str, str]](), None
    for part in parts(rest):
        words = part.name.split()
        last = next((line.strip() for line in reversed(part.text.splitlines()) if line.strip()), "")
        if words[0] == "ping" and len(words) == 4 and words[3].isdigit():
            whole.append(Ping(words[1], words[2], int(words[3]), part.exit == 0, _said(part.text) or last))
        elif words[0] == "small" and len(words) == 3:
            small[words[1], words[2]] = part.exit == 0
        elif words[0] == "hear" and len(words) == 2:
            heard += ((words[1], line) for line in map(str.strip, part.text.splitlines()) if line.startswith("fe80:"))
        elif words[0] == "gpu":
            told = next((line.strip() for line in part.text.splitlines() if "rror" in line), last)
            gpu = part.text.strip() if part.exit == 0 else Unread(f"{told or 'nothing was printed'} (exit {part.exit})")
    found = (replace(ping, small=small.get((ping.interface, ping.address))) for ping in whole)
    return Peers(tuple(sorted(found, key=lambda ping: (ping.interface, ping.address))), gpu, tuple(sorted(heard)))


def _said(text: str) -> str:
    """The line that says why: an error message, else the one about packet loss."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    telling = [line for line in lines if "error" in line or "Unreachable" in line or "not found" in line]
    return next(iter(telling), next((line for line in lines if "packet loss" in line), ""))
