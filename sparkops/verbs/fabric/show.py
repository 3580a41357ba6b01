"""Answers of `fabric`, each cable with the interfaces at its two ends, then what is wrong; and of `fabric setup`."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sparkops.report.text import Document, How, Ink, away, columns
from sparkops.verbs.preflight.show import problems

KINDS = {
    "none": "no node is connected to another one",
    "partly cabled": "not all nodes are connected",
}


def fabric(document: Document, ink: Ink, how: How) -> Iterator[str]:
    drawn = document["fabric"]
    ports = {(one["node"], one["port"]): one for one in drawn["ports"]}
    yield ink.bold("not all nodes were reached" if document.get("unreachable") else _title(drawn))
    for segment in drawn["segments"]:
        yield ""
        yield from _segment(segment, ports, ink)
    if drawn["measured"] is not None:
        yield from ("", *_measured(drawn["measured"]))
    yield from _rest(drawn, ink)
    yield from away(document, ink)
    if found := [*problems(document, ink, how)]:
        yield from ("", *found)
    elif not document.get("unreachable") and len(drawn["order"]) > 1:
        yield from ("", ink.good("Nothing is wrong with the fabric."))


def setup(document: Document, ink: Ink, how: How) -> Iterator[str]:
    """The files before they are written; the fabric afterwards."""
    begin = f"{how.on_these} fabric setup"
    if document.get("asked") or document.get("check"):
        yield from _files(document, ink)
        if document.get("check"):
            how_to = " --undo" if document["undo"] else f" --pool {pool}" if (pool := document["pool"]) else ""
            yield f"Nothing was changed. To change it: `{begin}{how_to} --yes`"
    elif "fabric" not in document:
        return
    elif document["undo"]:
        nodes = ", ".join(file["node"] for file in document["files"])
        yield f"Removed on {nodes}." if document["changed"] else "No node has a netplan file of sparkops."
    else:
        yield from fabric(document, ink, how)
        lost = [" ".join(at) for at, port in _unconnected(document["fabric"]).items() if port["up"]]
        if document["changed"]:
            yield f"To take it back: `{begin} --undo`"
        elif lost:
            yield f"Nothing was changed: it is unknown where the cables in {', '.join(lost)} lead."
        else:
            missing = "nothing is missing" if document["verdict"] == "pass" else "there is nothing that it would set"
            yield f"Nothing was changed: {missing}."


def _files(document: Document, ink: Ink) -> Iterator[str]:
    for file in document["files"]:
        verb = "remove" if document["undo"] else "write"
        yield f"{ink.bold(file['node'])}: {verb} {file['path']}, then netplan apply"
        yield from (f"  {line}" for line in file["text"].splitlines())


def _title(drawn: Document) -> str:
    if len(order := drawn["order"]) == 1:
        return f"{order[0]} alone: select more nodes to see where its cables lead"
    if len(drawn["islands"]) > 1 and drawn["segments"]:
        return "; ".join(_island(one) for one in drawn["islands"])
    return _island(drawn)


def _island(drawn: Document) -> str:
    """Nodes that are connected with each other."""
    kind, order = drawn["kind"], drawn["order"]
    if len(order) == 1:
        return f"{order[0]}: connected to none"
    if kind == "switch":
        return f"switch of {len(order)} nodes"
    around = " - ".join((*order, order[0]) if kind in ("triangle", "ring") else order)
    return f"{kind}: {KINDS.get(kind, around)}"


def _segment(segment: Document, ports: Mapping[tuple[str, str], Any], ink: Ink) -> Iterator[str]:
    """A cable as a line between two ports; a switch as a list of ports."""
    ends = [(end["node"], end["port"]) for end in segment["ends"]]
    speed = _speed(segment["speed_mbps"])
    if not segment["switch"]:
        (node, port), (other, its) = ends
        yield f"{ink.bold(node)} {port} -- {speed} -- {its} {ink.bold(other)}"
    else:
        yield f"switch -- {speed}"
    rows = [[node, port, *_addresses(one)] for node, port in ends for one in ports[node, port]["interfaces"]]
    yield from columns(rows, "  ")


def _measured(found: Sequence[Document]) -> Iterator[str]:
    """How much was carried; the reason instead once for all that could not be measured alike."""
    rows = [
        [*(f"{one[end]['node']} {one[end]['interface']}" for end in ("from", "to")), f"{one['gbps']:.0f} Gb/s measured"]
        for one in found
        if one["gbps"] is not None
    ]
    yield from columns(rows)
    why = [one["problem"] for one in found if one["problem"]]
    if not found:
        why = ["no two interfaces with RDMA are in one subnet"]
    yield from dict.fromkeys(f"not measured: {problem}" for problem in why)


def _addresses(interface: Document) -> list[str]:
    addresses = ", ".join(interface["addresses"]) or ("no IPv4 address" if interface["up"] else "down")
    lldp = f", at {interface['lldp']}" if interface["lldp"] else ""
    return [interface["name"], addresses, f"MTU {interface['mtu']}{lldp}"]


def _unconnected(drawn: Document) -> dict[tuple[str, str], Any]:
    """The ports that lead to none of these nodes."""
    shown = {(end["node"], end["port"]) for one in drawn["segments"] for end in one["ends"]}
    ports = {(one["node"], one["port"]): one for one in drawn["ports"]}
    return {at: port for at, port in ports.items() if at not in shown}


def _rest(drawn: Document, ink: Ink) -> Iterator[str]:
    rest = _unconnected(drawn)
    if rest:
        yield ""
    if dark := [" ".join(at) for at, port in rest.items() if not port["up"]]:
        yield ink.dim(f"no link: {', '.join(dark)}")
    for at, port in rest.items():
        if port["up"]:
            speed = _speed(port["speed_mbps"])
            yield f"{' '.join(at)} -- {speed} -- unknown"
            yield from columns([_addresses(one) for one in port["interfaces"]], "  ")


def _speed(mbps: int | None) -> str:
    return f"{mbps / 1000:g} Gb/s" if mbps else "speed unknown"
