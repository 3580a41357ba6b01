"""Interfaces, RDMA devices, listening sockets, routes, firewall."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from ipaddress import IPv4Interface, IPv6Address

from sparkops.core.facts.raw import Probe
from sparkops.core.facts.reading import document, lines, mapping, number, pairs, tree

MELLANOX = "0x15b3"
_CX7_NAME = re.compile(r"en[pP]\d+(?:p\d+)?s\d+f\d+np(\d)")
_FUNCTION = re.compile(r"en\w+f(\d)")
_UNSET_GID = re.compile(r"[0:]*")


@dataclass(frozen=True)
class Gid:
    """One entry of an RDMA device's address table; `kind` is e.g. `RoCE v2`, empty where it could not be read."""

    index: int
    address: str
    kind: str
    interface: str

    @property
    def ipv4(self) -> str:
        """The IPv4 address in it, empty for IPv6."""
        try:
            return str(IPv6Address(self.address).ipv4_mapped or "")
        except ValueError:
            return ""


@dataclass(frozen=True)
class Rdma:
    """An RDMA device. `rate` is as the kernel words it."""

    name: str
    interface: str
    state: str
    physical_state: str
    rate: str
    link_layer: str
    firmware: str
    gids: tuple[Gid, ...]

    @property
    def active(self) -> bool:
        return self.state.endswith("ACTIVE")


@dataclass(frozen=True)
class RdmaLink:
    """One line of `ibdev2netdev`."""

    device: str
    interface: str
    up: bool


@dataclass(frozen=True)
class Interface:
    """A network interface. `speed_mbps` is None while the link is down. `port` names its QSFP port.

    `link_local` is the IPv6 address by which the other end of a cable knows it; empty without IPv6. `managed`: it has
    an address by DHCP, or belongs to a bond or bridge.
    """

    name: str
    state: str
    carrier: bool
    mtu: int
    mac: str
    speed_mbps: int | None
    ipv4: tuple[IPv4Interface, ...]
    port: str | None = None
    twin: str | None = None
    rdma: Rdma | None = None
    link_local: str = ""
    managed: bool = False

    @property
    def up(self) -> bool:
        return self.state == "up" or (self.state == "unknown" and self.carrier)

    @property
    def address(self) -> str | None:
        """Its IPv4 address, a configured one before a link-local one."""
        ordered = sorted(self.ipv4, key=lambda one: one.ip.is_link_local)
        return str(ordered[0].ip) if ordered else None


@dataclass(frozen=True)
class Listener:
    """A listening TCP socket. `process` is None if the system hides it from this user."""

    address: str
    port: int
    process: str | None
    pid: int | None


@dataclass(frozen=True)
class Route:
    interface: str
    gateway: str | None


@dataclass(frozen=True)
class Firewall:
    """`ufw` is None without ufw; `rules` are iptables' own for INPUT, empty when we may not see them."""

    ufw: bool | None
    rules: tuple[str, ...]


@dataclass(frozen=True)
class Profile:
    """A NetworkManager connection profile; `interface` is empty when it is not in use."""

    name: str
    kind: str
    autoconnect: bool
    interface: str


@dataclass(frozen=True)
class Address:
    """One interface in the output of `ip addr`."""

    state: str
    mtu: int
    mac: str
    carrier: bool
    ipv4: tuple[IPv4Interface, ...]
    link_local: str = ""
    managed: bool = False


def addresses(text: str) -> Mapping[str, Address]:
    found = {}
    for item in map(mapping, document(text)):
        flags = item.get("flags", ())
        entries = [mapping(entry) for entry in item.get("addr_info", ())]
        ipv4 = [IPv4Interface(f"{e['local']}/{e['prefixlen']}") for e in entries if e.get("family") == "inet"]
        local = (e["local"] for e in entries if e.get("family") == "inet6" and e.get("scope") == "link")
        found[str(item["ifname"]).partition("@")[0]] = Address(
            state=str(item.get("operstate", "")).lower(),
            mtu=int(item.get("mtu", 0)),
            mac=str(item.get("address", "")),
            carrier="LOWER_UP" in flags,
            ipv4=tuple(ipv4),
            link_local=str(next(map(IPv6Address, local), "")),
            managed="master" in item or any(e.get("dynamic") for e in entries if e.get("family") == "inet"),
        )
    return found


def sysfs(text: str) -> Mapping[str, Mapping[str, str]]:
    """By interface, or by RDMA device, its small files."""
    found: dict[str, dict[str, str]] = {}
    for path, value in tree(text).items():
        name, _, file = path.partition("/")
        found.setdefault(name, {})[file] = value
    return found


def infiniband(text: str) -> tuple[Rdma, ...]:
    return tuple(_rdma(name, files) for name, files in sysfs(text).items())


def ibdev2netdev(text: str) -> tuple[RdmaLink, ...]:
    """In the tool's order, which differs between nodes."""
    found = re.findall(r"^(\S+) port \d+ ==> (\S+) \((Up|Down)\)\s*$", text, re.M)
    if not found:
        raise ValueError(next(lines(text), "no RDMA device"))
    return tuple(RdmaLink(device, interface, state == "Up") for device, interface, state in found)


def routes(text: str) -> tuple[Route, ...]:
    rows = map(mapping, document(text) if text.strip() else ())
    return tuple(Route(str(row["dev"]), row.get("gateway")) for row in rows if row.get("dst") == "default")


def listeners(text: str) -> tuple[Listener, ...]:
    found = []
    for line in lines(text):
        words = line.split()
        if words[0] != "LISTEN" or len(words) < 4:
            continue
        address, _, port = words[3].rpartition(":")
        holder = re.search(r'\(\("([^"]*)",pid=(\d+)', line)
        found.append(
            Listener(address.strip("[]"), int(port), holder[1] if holder else None, int(holder[2]) if holder else None)
        )
    return tuple(found)


def firewall(probe: Probe) -> Firewall:
    """ufw's own switch, and iptables' rules if sudo was allowed; without sudo it has no rules."""
    enabled = pairs(probe.text).get("ENABLED")
    rules = tuple(line for line in lines(probe.text) if line.startswith("-"))
    return Firewall(None if enabled is None else enabled.lower() == "yes", rules)


def profiles(text: str) -> tuple[Profile, ...]:
    """`nmcli -t`: colons inside a name are escaped."""
    rows = ([cell.replace("\\:", ":") for cell in re.split(r"(?<!\\):", line)] for line in lines(text))
    return tuple(Profile(row[0], row[1], row[2] == "yes", row[3]) for row in rows if len(row) == 4)


def interfaces(
    files: Mapping[str, Mapping[str, str]],
    ip: Mapping[str, Address],
    devices: tuple[Rdma, ...],
    links: tuple[RdmaLink, ...],
) -> tuple[Interface, ...]:
    """One value an interface from sysfs, `ip` and the RDMA devices; whichever could be read is used."""
    told = {link.interface: _told(link) for link in links}
    rdma = told | {device.interface: device for device in devices}
    names = dict.fromkeys((*files, *ip))
    found = [_interface(name, files.get(name, {}), ip.get(name), rdma.get(name)) for name in names]
    return tuple(_paired(interface, found) for interface in found)


def _told(link: RdmaLink) -> Rdma:
    """An RDMA device as `ibdev2netdev` alone knows it."""
    state = "ACTIVE" if link.up else "DOWN"
    return Rdma(link.device, link.interface, state, physical_state="", rate="", link_layer="", firmware="", gids=())


def _interface(name: str, files: Mapping[str, str], ip: Address | None, rdma: Rdma | None) -> Interface:
    speed = number(files.get("speed", ""))
    return Interface(
        name=name,
        state=files.get("operstate") or (ip.state if ip else ""),
        carrier=files["carrier"] == "1" if "carrier" in files else bool(ip and ip.carrier),
        mtu=number(files.get("mtu", "")) or (ip.mtu if ip else 0),
        mac=files.get("address") or (ip.mac if ip else ""),
        speed_mbps=speed if speed and speed > 0 else None,
        ipv4=ip.ipv4 if ip else (),
        port=_port(name, files, rdma is not None),
        rdma=rdma,
        link_local=ip.link_local if ip else "",
        managed=ip is not None and ip.managed,
    )


def _port(name: str, files: Mapping[str, str], roce: bool) -> str | None:
    named = _CX7_NAME.fullmatch(name)
    if not (roce or named or files.get("device/vendor") == MELLANOX):
        return None
    number = named or _FUNCTION.fullmatch(name)
    return files.get("phys_port_name") or (f"p{number[1]}" if number else name)


def _paired(interface: Interface, all_of_them: list[Interface]) -> Interface:
    if interface.port is None:
        return interface
    twins = [other.name for other in all_of_them if other.port == interface.port and other.name != interface.name]
    return replace(interface, twin=twins[0] if len(twins) == 1 else None)


def _rdma(name: str, files: Mapping[str, str]) -> Rdma:
    port = "ports/1"
    netdevs = [path.removeprefix("device/net/") for path in files if path.startswith("device/net/")]
    first = files.get(f"{port}/gid_attrs/ndevs/0", "")
    return Rdma(
        name=name,
        interface=netdevs[0] if netdevs else first,
        state=files.get(f"{port}/state", ""),
        physical_state=files.get(f"{port}/phys_state", ""),
        rate=files.get(f"{port}/rate", ""),
        link_layer=files.get(f"{port}/link_layer", ""),
        firmware=files.get("fw_ver", ""),
        gids=tuple(_gids(files, port)),
    )


def _gids(files: Mapping[str, str], port: str) -> Iterator[Gid]:
    for index in range(16):
        address = files.get(f"{port}/gids/{index}", "")
        if not _UNSET_GID.fullmatch(address):
            kind, interface = (files.get(f"{port}/gid_attrs/{what}/{index}", "") for what in ("types", "ndevs"))
            yield Gid(index, address, kind, interface)
