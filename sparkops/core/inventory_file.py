"""Inventory files, in Ansible's YAML shape, to nodes and groups as the operator wrote them.

Addresses are IPs: name resolution (mDNS above all) floods under load and takes nodes down with it.
"""

import ipaddress
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from itertools import islice
from typing import Any

from sparkops.core import node_paths, proxy_image, schema
from sparkops.core.fabric import address_pool
from sparkops.core.inventory import Inventory, Node
from sparkops.core.schema import Located, fail

VARS = (
    *("address", "fabric_address", "fabric_pool", "user", "port", "key_file", "become", "cache_dir", "api_port"),
    *("recipe", "proxy_image", "proxy_metrics"),
)
ALIASES = {
    "ansible_host": "address",
    "ansible_ssh_host": "address",
    "ansible_user": "user",
    "ansible_ssh_user": "user",
    "ansible_port": "port",
    "ansible_ssh_port": "port",
    "ansible_ssh_private_key_file": "key_file",
    "ansible_private_key_file": "key_file",
}
CLOSE = 0.8
CLOSE_ANSIBLE = 0.9
"""Similarity (0 to 1) from which an unknown name counts as a mistyped name of ours; higher for names in `ansible_`."""

_ANSIBLE = (
    "become become_exe become_flags become_method become_pass become_password become_user connection network_os "
    "password pipelining python_interpreter remote_tmp shell_executable shell_type ssh_args ssh_common_args "
    "ssh_executable ssh_extra_args ssh_pass ssh_password ssh_pipelining ssh_retries ssh_timeout ssh_transfer_method "
    "timeout winrm_transport"
)
ANSIBLE = frozenset(f"ansible_{name}" for name in _ANSIBLE.split())

_RANGE = re.compile(r"\[(?:([0-9]+):([0-9]+)(?::([0-9]+))?|([a-zA-Z]):([a-zA-Z])(?::([0-9]+))?)\]")
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:-]*")
_LONGEST = 253
"""Characters of the longest name, as DNS has it."""

_MOST_NODES = 4096
_MOST_NAMES = 100_000
_SHOWN = 8


@dataclass
class _Group:
    """A group while the file is read; `depth` is the length of the longest path to it from `all`."""

    vars: dict[str, Located] = field(default_factory=dict)
    hosts: dict[str, None] = field(default_factory=dict)
    children: dict[str, None] = field(default_factory=dict)
    depth: int = 0


@dataclass
class _Walk:
    """The state of reading one file."""

    groups: dict[str, _Group] = field(default_factory=lambda: {"all": _Group()})
    hosts: dict[str, dict[str, Located]] = field(default_factory=dict)
    places: dict[str, Located] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    written: int = 0
    """How many names of nodes the groups have, each range counted as its names."""


def read(document: Located) -> Inventory:
    """An inventory file as nodes and groups."""
    walk = _Walk()
    for name, value in schema.mapping(document).items():
        _check_name(name, value)
        _read_group(walk, name, value, name)
        if name != "all":
            walk.groups["all"].children[name] = None
    _set_depths(walk, document)
    if not walk.hosts:
        fail(document, "", "has no nodes: write them below `all: hosts:`")
    members = _members(walk)
    merged = _merged(walk, members)
    nodes = tuple(_node(host, values, walk.places[host]) for host, values in merged.items())
    _refuse_twins(nodes, walk)
    given = {host: _recipe(values) for host, values in merged.items()}
    order = {host: rank for rank, host in enumerate(walk.hosts)}
    groups = {name: tuple(sorted(hosts, key=order.__getitem__)) for name, hosts in members.items()}
    recipes = {host: recipe for host, recipe in given.items() if recipe is not None}
    common = _recipe(walk.groups["all"].vars)
    return Inventory(document.file, nodes, groups, common, tuple(walk.warnings), recipes)


def _recipe(values: Mapping[str, Located]) -> str | None:
    value = values.get("recipe")
    return schema.text(value, "recipe") if value and value.value is not None else None


def expand(name: str) -> list[str]:
    """`spark[1:4]` is four names; leading zeros are kept, letters count too, a third number is the step.

    Of more than the most nodes, it gives one name more than these.
    """
    names, end = [""], 0
    for match in _RANGE.finditer(name):
        text, end = name[end : match.start()], match.end()
        longer = (f"{begun}{text}{item}" for begun in names for item in _items(match))
        names = list(islice(longer, _MOST_NODES + 1))
    return [f"{begun}{name[end:]}" for begun in names]


def _items(match: re.Match[str]) -> Iterator[str]:
    low, high, step, first, last, stride = match.groups()
    if low is not None:
        return (str(number).zfill(len(low)) for number in range(int(low), int(high) + 1, int(step or 1) or 1))
    return map(chr, range(ord(first), ord(last) + 1, int(stride or 1) or 1))


def _read_group(walk: _Walk, name: str, value: Located, path: str) -> None:
    group = walk.groups.setdefault(name, _Group())
    entries = schema.mapping(value, path, ("vars", "hosts", "children"))
    if "vars" in entries:
        group.vars |= _vars(walk, entries["vars"], f"{path}.vars")
    for host, values in _entries(entries, "hosts", path):
        _read_host(walk, group, host, values, f"{path}.hosts.{host}")
    for child, inner in _entries(entries, "children", path):
        _check_name(child, inner)
        group.children[child] = None
        _read_group(walk, child, inner, f"{path}.children.{child}")


def _read_host(walk: _Walk, group: _Group, host: str, values: Located, path: str) -> None:
    if len(host) > _LONGEST:
        fail(values, f"{host[:20]}...", f"a name has at most {_LONGEST} characters")
    names = expand(host)
    walk.written += len(names)
    if not names or len({*names, *walk.hosts}) > _MOST_NODES:
        fail(values, path, "is an empty range" if not names else f"makes the inventory larger than {_MOST_NODES} nodes")
    if walk.written > _MOST_NAMES:
        fail(values, path, f"the groups of this inventory have more than {_MOST_NAMES} names of nodes")
    given = _vars(walk, values, path)
    for name in names:
        _check_name(name, values)
        walk.hosts.setdefault(name, {}).update(given)
        walk.places.setdefault(name, values)
        group.hosts[name] = None


def _entries(entries: Mapping[str, Located], key: str, path: str) -> Iterable[tuple[str, Located]]:
    return schema.mapping(entries[key], f"{path}.{key}").items() if key in entries else ()


def _check_name(name: str, value: Located) -> None:
    if not _NAME.fullmatch(name):
        fail(value, name, "is not a valid name for a node or group (allowed: letters, digits, - _ . :)")


def _vars(walk: _Walk, value: Located, path: str) -> dict[str, Located]:
    """Our variables under our names. A name that looks like a mistyped one of ours fails; other names are warnings."""
    found: dict[str, Located] = {}
    for key, item in schema.mapping(value, path).items():
        name = ALIASES.get(key, key)
        if name in VARS:
            if name not in found or key in VARS:
                found[name] = item
            continue
        cutoff = CLOSE_ANSIBLE if key.startswith("ansible_") else CLOSE
        close = None if key in ANSIBLE else schema.nearest(key, (*VARS, *ALIASES), cutoff)
        if close:
            fail(item, f"{path}.{key}", f"unknown variable (did you mean {close}?)")
        walk.warnings.append(f"{item.where}: {path}.{key}: sparkops does not use this variable")
    return found


def _set_depths(walk: _Walk, document: Located) -> None:
    try:
        order = list(TopologicalSorter({name: group.children for name, group in walk.groups.items()}).static_order())
    except CycleError as error:
        circle = error.args[1][::-1]
        shown = [*circle[:3], "...", *circle[-2:]] if len(circle) > _SHOWN else circle
        fail(document, circle[0], f"this group contains itself: {' > '.join(shown)}")
    for group in (walk.groups[name] for name in reversed(order)):
        for child in (walk.groups[name] for name in group.children):
            child.depth = max(child.depth, group.depth + 1)


def _members(walk: _Walk) -> dict[str, tuple[str, ...]]:
    """The hosts of every group and of the groups below it; the deepest groups come first."""
    found: dict[str, tuple[str, ...]] = {}
    for name, group in sorted(walk.groups.items(), key=lambda item: -item[1].depth):
        below = [host for child in group.children for host in found[child]]
        found[name] = tuple(dict.fromkeys([*group.hosts, *below]))
    return {name: tuple(walk.hosts) if name == "all" else found[name] for name in walk.groups}


def _merged(walk: _Walk, members: Mapping[str, tuple[str, ...]]) -> dict[str, dict[str, Located]]:
    """Variables by host: a child group's win over its parent's, the host's own over all."""
    values: dict[str, dict[str, Located]] = {host: {} for host in walk.hosts}
    for name, group in sorted(walk.groups.items(), key=lambda item: (item[1].depth, item[0])):
        for host in members[name] if group.vars else ():
            values[host] |= group.vars
    return {host: found | walk.hosts[host] for host, found in values.items()}


def _node(name: str, values: Mapping[str, Located], place: Located) -> Node:
    made: dict[str, Any] = {}
    if "address" not in values:
        _address(name, Located(name, place.file, place.line), f"{name}: address is missing")
        made["address"] = name
    for key, value in values.items():
        path = f"{name}.{key}"
        if value.value is None:
            continue
        if key in ("address", "fabric_address"):
            made[key] = _address(schema.text(value, path), value, path)
        elif key in ("port", "api_port"):
            made[key] = schema.integer(value, path, 1, 65535)
        elif key == "become":
            made[key] = schema.choice(value, path, ("none", "sudo"))
        elif key == "proxy_image":
            made[key] = _proxy_image(schema.text(value, path), value, path)
        elif key == "proxy_metrics":
            made[key] = schema.convert(bool, value, path)
        elif key == "fabric_pool":
            made[key] = _pool(schema.text(value, path), value, path)
        elif key == "cache_dir":
            made[key] = _cache_dir(schema.text(value, path), value, path)
        elif key != "recipe":
            made[key] = schema.text(value, path)
    if "address" not in made:
        fail(place, f"{name}.address", "is required")
    return Node(name=name, **made)


def _address(text: str, value: Located, path: str) -> str:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        if set(text) <= set("0123456789."):
            fail(value, path, f"{text} is not an IP address: that has four numbers from 0 to 255")
        problem = (
            f"must be an IP address, not the host name {text!r}: under load, name resolution (mDNS) takes nodes down"
        )
        fail(value, path, problem, hint=f"write its IP address here; `ping {shlex.quote(text)}` shows it")
    if address.is_unspecified or address.is_multicast:
        fail(value, path, f"{text} is not the address of a machine")
    return str(address)


def _pool(text: str, value: Located, path: str) -> str:
    if problem := address_pool.problem(text):
        fail(value, path, f"{text} {problem}", hint=f"name a network such as {address_pool.EXAMPLE}")
    return text


def _cache_dir(text: str, value: Located, path: str) -> str:
    if problem := node_paths.problem(text):
        fail(value, path, problem)
    return text


def _proxy_image(text: str, value: Located, path: str) -> str:
    if not proxy_image.FORM.fullmatch(text):
        fail(value, path, "must be NAME:TAG or NAME:TAG@sha256:DIGEST", hint=f"example: {proxy_image.DEFAULT}")
    if problem := proxy_image.problem(text):
        fail(value, path, problem, hint=f"use another version, such as {proxy_image.DEFAULT}")
    return text


def _refuse_twins(nodes: tuple[Node, ...], walk: _Walk) -> None:
    """Fail if two nodes have one address: they are one machine, and a cluster of it would wait for ever."""
    seen: dict[str, str] = {}
    for node in nodes:
        for kind, address in (("address", node.address), ("fabric_address", node.fabric_address)):
            if address is None:
                continue
            other = seen.setdefault(address, node.name)
            if other != node.name:
                fail(walk.places[node.name], f"{node.name}.{kind}", f"{address} is already the address of {other}")
