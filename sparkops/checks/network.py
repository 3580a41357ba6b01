"""Checks of the network beside the cable: firewall, default route, NetworkManager, mDNS."""

import re
from collections.abc import Iterator
from ipaddress import IPv4Network

from sparkops.checks.check import LINKS, CannotTell, Check, FabricCheck, Here, Said, good, read, some, warn
from sparkops.checks.fabric import cabled
from sparkops.core.facts import Firewall, Unread

_BY_ITSELF = re.compile(r"\D.*\s\d+")
"""Profiles that NetworkManager creates by itself have a number: `Wired connection 1`, in the system's language."""

UNSEEN = "only root can read that rule, so leave out this check: sparkops preflight --skip firewall"
_COMMENT = re.compile(r' -m comment --comment ("[^"]*"|\S+)')
_ACCEPTS = re.compile(
    r"-A \S+(?: -s (?P<source>[\d./]+))?(?: -i (?P<interface>\S+))?(?: -p tcp(?: -m tcp)?)? -j ACCEPT"
)


@FabricCheck(
    id="firewall",
    title="The firewall allows all traffic on the fabric",
    why="Ray, NCCL and the engine's ranks choose ports at run time, so the fabric must be open for all ports.",
    source="ufw(8); owners' reports: the worker's connections to the head stay in SYN-SENT",
    hint="on the node: sudo ufw allow in on INTERFACE, for both interfaces",
    reads=(*LINKS, "firewall"),
).each_node
def firewall(here: Here) -> Iterator[Said]:
    """Only root can read the rules; anyone can read whether ufw is on."""
    found = read(here.facts.firewall)
    both = cabled(here)
    names, networks = [one.name for one in both], [address.network for one in both for address in one.ipv4]
    shut = found.ufw or _drops(found)
    if not shut:
        yield good(evidence=f"ufw {'unknown' if found.ufw is None else 'off'}, {len(found.rules)} INPUT rules read")
    elif not found.rules:
        yield warn("ufw is on, but sparkops cannot read its rules without root", f"{_allow(names)}; {UNSEEN}")
    elif not any(_allows(rule, names, networks) for rule in found.rules):
        yield warn(
            "a firewall is on, and no rule allows all TCP on the fabric", _allow(names), "; ".join(found.rules[:6])
        )


def _drops(found: Firewall) -> bool:
    last = next((rule for rule in reversed(found.rules) if rule.startswith("-A INPUT")), "")
    policy = any(re.match(r"-P INPUT (DROP|REJECT)", rule) for rule in found.rules)
    return policy or re.fullmatch(r"-A INPUT -j (DROP|REJECT)( .*)?", last) is not None


def _allows(rule: str, names: list[str], networks: list[IPv4Network]) -> bool:
    """Whether the rule accepts all TCP on the fabric; one for a port, or another interface or subnet, does not."""
    found = _ACCEPTS.fullmatch(_COMMENT.sub("", rule))
    if found is None or (found["interface"] and found["interface"] not in names):
        return False
    source = found["source"]
    return source is None or any(network.subnet_of(IPv4Network(source, strict=False)) for network in networks)


def _allow(names: list[str]) -> str:
    return "on the node: " + " && ".join(f"sudo ufw allow in on {name}" for name in names)


@Check(
    id="default-route",
    title="The default route does not use the fabric",
    why=(
        "A DHCP profile or a gateway on a CX7 port takes over the default route. Downloads then hang, and the node may "
        "lose its LAN connection."
    ),
    source="setup notes of owners of two nodes: ipv4.never-default yes on the CX7 interfaces",
    hint=(
        "remove the gateway of the CX7 ports from /etc/netplan/40-cx7.yaml (mode 600), then: sudo netplan apply; with "
        "NetworkManager, set ipv4.never-default to yes in the profiles of these ports"
    ),
    reads=(*LINKS, "routes"),
).each_node
def way_out(here: Here) -> Iterator[Said]:
    cx7 = {one.name for port in here.facts.ports for one in port.interfaces}
    ways = [route.interface for route in read(here.facts.routes)]
    if wrong := [name for name in ways if name in cx7]:
        yield warn(f"a default route uses {some(wrong)}: traffic to the internet goes to the fabric")
    else:
        yield good(evidence=f"default route: {', '.join(ways) or 'none'}")


@Check(
    id="nm-phantoms",
    title="NetworkManager does not manage the fabric",
    why=(
        "NetworkManager's own profiles (`Wired connection N`) request DHCP on the CX7 ports every 45 s, remove "
        "addresses and cause mDNS conflicts."
    ),
    source="NVIDIA/dgx-spark-playbooks #56; DoctorMasterNewb/sparkbase, wiki",
    hint='on the node: sudo nmcli connection modify "Wired connection 1" connection.autoconnect no',
    reads=(*LINKS, "nm"),
).each_node
def phantoms(here: Here) -> Iterator[Said]:
    found = here.facts.nm
    if isinstance(found, Unread) and ("not found" in found.reason or "not running" in found.reason):
        yield good("NetworkManager does not run")
        return
    cx7 = [one for port in here.facts.ports for one in port.interfaces]
    bare = {one.name for one in cx7 if all(address.ip.is_link_local for address in one.ipv4)}
    made = (one for one in read(found) if one.kind in ("802-3-ethernet", "ethernet") and one.autoconnect)
    idle = {""} if bare else set[str]()
    loose = [one.name for one in made if _BY_ITSELF.fullmatch(one.name) and one.interface in bare | idle]
    if loose:
        off = "; ".join(f'sudo nmcli connection modify "{name}" connection.autoconnect no' for name in loose)
        yield warn(f"NetworkManager profiles request DHCP on the fabric: {', '.join(loose)}", f"on the node: {off}")


@Check(
    id="avahi-name",
    title="mDNS announces the node under its own hostname",
    why=(
        "avahi receives its own announcements over both interfaces of a port and over bridges. It then renames the "
        "node again and again, until no .local name resolves. sparkops uses IP addresses; other tools use the name."
    ),
    source="DoctorMasterNewb/sparkbase, wiki; NVIDIA/dgx-spark-playbooks #56 (spark1-30.local)",
    hint="set allow-interfaces=enP7s7 in /etc/avahi/avahi-daemon.conf, then: sudo systemctl restart avahi-daemon",
    reads=("avahi",),
).each_node
def avahi(here: Here) -> Iterator[Said]:
    found = read(here.facts.avahi)
    if found.announced is None:
        raise CannotTell("avahi does not run")
    if found.conflict:
        yield warn(f"mDNS announces the node as {found.announced}.local instead of {found.hostname}")
