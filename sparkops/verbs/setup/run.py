"""`trust` pins host keys; `init` also writes an inventory and shows which rights are missing."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from sparkops.checks.docker import docker_problem
from sparkops.cli.where import secret
from sparkops.core.facts import Facts, Sudo
from sparkops.core.inventory import SSH_PORT, Inventory, Node
from sparkops.core.plan import Command, NodeLost, Script
from sparkops.core.target import ConfirmOptions
from sparkops.errors import Refused, Unreachable, UsageError
from sparkops.files import inventory as load_inventory
from sparkops.files import own_files
from sparkops.remote.connect_errors import Unreached
from sparkops.remote.gather import connect, gather
from sparkops.remote.handshake import resolve
from sparkops.remote.network import network
from sparkops.remote.ssh import Options
from sparkops.remote.trust import SeenHostKey, known_hosts_file, pin, pinned_host_keys
from sparkops.report.answer import Answer
from sparkops.report.report import Report
from sparkops.session.away import AwayNodes, unreachable
from sparkops.session.open import Selected, connected, login
from sparkops.verbs.setup.options import InitFleetOptions, InitOptions

DOCKER_HINT = "on the node: sudo usermod -aG docker $USER, then log in again"
SUDOERS_HINT = "allow it once for all nodes: sparkops cache permit --ask-become-pass"


def trust(options: ConfirmOptions, report: Report) -> Answer:
    """Show the nodes' host keys and, after a confirmation, pin them beside the inventory."""
    inventory = load_inventory.inventory(options.where.inventory)
    path = known_hosts_file(inventory.source)
    nodes = inventory.select(options.where.limit)
    entries, away = _pinned(
        login(inventory.source, options.where.become_password, {}), nodes, path, options.yes, report
    )
    return Answer({"nodes": entries, "known_hosts": str(path), "unreachable": away.reasons}, error=away.error)


def init(options: InitOptions | InitFleetOptions, report: Report) -> Answer:
    """Write the inventory; with `InitFleetOptions`, the file of a fleet."""
    if isinstance(options, InitFleetOptions):
        from sparkops.verbs.fleet.write import write  # noqa: PLC0415  most inits need no deploy

        return write(options, report)
    return _init(options, report)


def _init(options: InitOptions, report: Report) -> Answer:
    """Pin host keys, install the public key if a password was given, detect the fabric, write the inventory."""
    output = Path(options.output) if options.output else load_inventory.user_config() / "inventory.yml"
    own_files.refuse_existing(output, options.force, "overwrite it with --force, or name another file with --output")
    nodes = [
        Node(f"spark{number}", _address(text, options.resolve), options.user, options.port, options.key_file)
        for number, text in enumerate(options.addresses, 1)
    ]
    if twice := [node.address for node in nodes if sum(node.address == other.address for other in nodes) > 1]:
        raise UsageError(f"{twice[0]} is given twice")
    own_files.refuse_missing_key(options.key_file if not options.ask_pass else None)
    public = own_files.login_key(options.key_file) if options.ask_pass else None
    password = secret("login password on the nodes", "SPARKOPS_PASSWORD") if options.ask_pass else None
    report.hide(password)
    own_files.make_folder(output.parent)
    pins = known_hosts_file(str(output))
    entries, away = _pinned(login(str(output), None, {}), nodes, pins, options.yes, report)
    if away.error:
        raise away.error
    if public is not None:
        _install_key(public, replace(login(str(output), None, {}), password=password), nodes, report)
    chosen = Selected(Inventory(str(output), tuple(nodes), {}), tuple(nodes), None)
    with connected(chosen, report) as session:
        session.require(session.nodes)
        facts = session.facts()
        session.require(session.nodes)
    if kept := own_files.keep_copy(output):
        report.note(f"the inventory before is kept as {kept}")
    own_files.write(output, _inventory([_detected(node, facts[node.name]) for node in nodes]))
    shown = [{**entry, **_found(facts[entry["name"]])} for entry in entries]
    found = load_inventory.usual_place() == output
    return Answer({"inventory": str(output), "found": found, "known_hosts": str(pins), "nodes": shown})


def _pinned(
    options: Options, nodes: Sequence[Node], path: Path, yes: bool, report: Report
) -> tuple[list[dict[str, Any]], AwayNodes]:
    """Fetch, show and pin host keys; raises `Refused` without a confirmation."""
    shown: dict[str, SeenHostKey] = {}
    away = AwayNodes()
    host_key = network().host_keys(options)
    for node in nodes:
        try:
            shown[node.name] = host_key(node)
        except Unreached as lost:
            away[node.name] = lost
    known = {name: pinned_host_keys([path], key.address, key.port) for name, key in shown.items()}
    new = {name: key for name, key in shown.items() if key.key not in {old.key for old in known[name]}}
    before = {name: _before(options.known_hosts, key) for name, key in new.items()}
    for name, key in shown.items():
        report.note(f"host key {key.kind} {key.fingerprint} ({_state(name, before)})", name)
        for old in before.get(name, ()):
            report.warn(f"pinned so far: {old.kind} {old.fingerprint}", name)
    for names in _shared(shown):
        report.warn(f"{names} have equal host keys; for the fix: `sparkops preflight --explain machines-differ`")
    if new and not yes and not report.confirm(f"Trust {'this key' if len(new) == 1 else f'these {len(new)} keys'}?"):
        raise Refused(
            "nothing was pinned: nobody answered yes on a terminal",
            hint="compare the fingerprints with `ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub` on the node; "
            "pin without asking: --yes",
        )
    if new:
        with own_files.writing(path):
            pin(path, list(new.values()))
    entries = [
        {
            "name": node.name,
            "address": node.address,
            "trust": _state(node.name, before),
            "keys": [_key(seen)],
            "pinned_before": [_key(old) for old in before.get(node.name, ())],
        }
        for node in nodes
        if (seen := shown.get(node.name))
    ]
    return entries, away


def _before(known_hosts: Iterable[Path], key: SeenHostKey) -> list[SeenHostKey]:
    """Other keys that are pinned for this address; none if this one is pinned in a file of the user."""
    pinned = pinned_host_keys(known_hosts, key.address, key.port)
    return [] if key.key in {old.key for old in pinned} else list(pinned)


def _state(name: str, before: Mapping[str, Sequence[SeenHostKey]]) -> str:
    """`before` has the nodes whose key is to be pinned, with the keys pinned so far."""
    if name not in before:
        return "pinned"
    return "changed" if before[name] else "new"


def _key(seen: SeenHostKey) -> dict[str, str]:
    return {"type": seen.kind, "fingerprint": seen.fingerprint}


def _shared(by_name: Mapping[str, SeenHostKey]) -> list[str]:
    """Names of nodes with equal host keys (an OEM clone defect)."""
    groups: dict[str, list[str]] = {}
    for name, key in by_name.items():
        groups.setdefault(key.key, []).append(name)
    return [" and ".join(names) for names in groups.values() if len(names) > 1]


def _install_key(public: str, options: Options, nodes: Sequence[Node], report: Report) -> None:
    """Log in once with the password and add the public key."""
    command = Command((Script("authorize"),), stdin=public)
    with network().fleet(nodes, options) as fleet:
        names = [node.name for node in nodes]
        if error := AwayNodes(connect(fleet, names)).error:
            raise error
        for name, result in gather(fleet, dict.fromkeys(names, command)).items():
            if isinstance(result, NodeLost):
                raise unreachable(result)
            if not result.ok:
                raise Unreachable(f"{name}: your public key could not be installed: {result.stderr.strip()}", node=name)
            report.note("your public key is installed", name)


def _address(text: str, look_up: bool) -> str:
    host, colon, port = text.partition(":")
    if colon and port.isdigit():
        raise UsageError(
            f"{text} has a port", hint=f"give the port as an option, the same for all nodes: {host} --port {port}"
        )
    try:
        return str(ip_address(resolve(text) if look_up else text))
    except ValueError:
        hint = (
            "add --resolve to look up its address once; the inventory needs addresses, because mDNS names of busy "
            "nodes may not resolve"
        )
        raise UsageError(f"{text} is not an IP address", hint=hint) from None
    except OSError as error:
        raise UsageError(f"cannot find the IP address of {text}: {error.strerror}") from error


def _inventory(nodes: Sequence[Node]) -> str:
    """Return the text of the inventory file."""
    lines = ["# Written by `sparkops init`; the first node is the head of a cluster.", "all:", "  hosts:"]
    for node in nodes:
        lines += [f"    {node.name}:", f"      address: {node.address}"]
        wanted = {"user": node.user, "port": node.port if node.port != SSH_PORT else None, "key_file": node.key_file}
        wanted["fabric_address"] = node.fabric_address
        lines += [f"      {key}: {json.dumps(value)}" for key, value in wanted.items() if value is not None]
    return "\n".join([*lines, ""])


def _detected(node: Node, facts: Facts) -> Node:
    link = facts.link()
    return replace(node, fabric_address=link.address if link else None)


def _found(facts: Facts) -> dict[str, Any]:
    """Return the fabric address, and each missing right with the command that grants it."""
    link = facts.link()
    missing = []
    if problem := docker_problem(facts):
        missing.append({"message": f"Docker cannot be used: {problem}", "hint": DOCKER_HINT})
    if isinstance(facts.sudo, Sudo) and not facts.sudo.drop_caches:
        missing.append({"message": "the login user needs a password to drop the page cache", "hint": SUDOERS_HINT})
    return {"fabric_address": link.address if link else None, "missing": missing}
