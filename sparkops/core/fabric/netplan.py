"""Our netplan file of a node: one line for each interface that lacks something."""

import re
from collections.abc import Iterator, Mapping
from ipaddress import IPv4Interface

from sparkops.core.fabric.addressing import MTU, InterfaceSetting

PATH = "/etc/netplan/99-sparkops-fabric.yaml"
"""Read after NVIDIA's 40-cx7.yaml and eugr's 98-spark-vllm-docker.yaml: netplan adds its addresses to theirs, once."""

HEAD = """\
# Written by `sparkops fabric setup`; removed by `sparkops fabric setup --undo`.
network:
  version: 2
  ethernets:
"""
STATIC = "optional: true, dhcp4: false, dhcp6: false, accept-ra: false, "
"""The fabric never gets the default route, and a boot does not wait for a cable. IPv6 link-local addresses stay: they
tell sparkops where a cable leads."""

_LINE = re.compile(r"    ([^\s:]+): \{[^{}]*\}")


def readable(text: str) -> bool:
    """Whether the file is as sparkops writes it; an empty text is no file."""
    lines = text.removeprefix(HEAD).splitlines()
    try:
        return not text or (text.startswith(HEAD) and all(map(_LINE.fullmatch, lines)) and all(addresses(text)))
    except ValueError:  # what looks like an address is none
        return False


def merged(text: str, settings: Mapping[str, InterfaceSetting]) -> str:
    """The readable file with these settings, too."""
    lines = _lines(text)
    for name, setting in settings.items():
        own = ", ".join(map(str, setting.addresses))
        line = f"    {name}: {{{STATIC if setting.new else ''}mtu: {MTU}, addresses: [{own}]}}"
        lines[name] = line if setting.new else lines.get(name, line)
    return HEAD + "".join(f"{line}\n" for line in lines.values())


def addresses(text: str) -> Iterator[IPv4Interface]:
    """Those that the file gives, also to interfaces that are down now."""
    for line in _lines(text).values():
        yield from map(IPv4Interface, re.findall(r"[0-9.]+/[0-9]+", line))


def _lines(text: str) -> dict[str, str]:
    """By interface."""
    found = map(_LINE.fullmatch, text.removeprefix(HEAD).splitlines())
    return {one[1]: one[0] for one in found if one}
