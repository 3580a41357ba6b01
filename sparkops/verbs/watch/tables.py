"""The deployments and the nodes, a row each. Pure."""

import shlex
from collections.abc import Iterator

from sparkops.core.facts import GpuLoad
from sparkops.core.printable import printable_line
from sparkops.core.sizes import kib_text
from sparkops.core.watch.deployment import Rank, WatchedDeployment
from sparkops.core.watch.node import WatchedNode
from sparkops.core.watch.picture import Picture
from sparkops.verbs.watch.chart import Glyphs
from sparkops.verbs.watch.rows import ScreenRow, cell

STATES = {"serving": "good", "starting": "warn", "degraded": "warn", "failed": "bad", "unreachable": "bad"}
GBIT = 1e9
TIGHT, FULL = 0.92, 0.97
"""Shares of the memory in use: more than an engine with 0.9 of it and the system need, and less than 4 GiB left."""


def deployments(shown: Picture, glyphs: Glyphs, *, ranks: bool = False) -> Iterator[ScreenRow]:
    """One row each; below one that starts, and with `ranks` below all, how far each rank is."""
    if not shown.deployments:
        return
    heads = (
        cell("deployment", 20),
        cell("state", 11),
        cell("ranks", 5),
        cell("out/s", 6, right=True),
        cell("in/s", 6, right=True),
        cell("run", 4, right=True),
        cell("wait", 4, right=True),
        cell("kv", 4, right=True),
    )
    yield ScreenRow([("".join(heads), "dim")])
    for one in shown.deployments:
        yield _deployment(one)
        yield from (boot(rank, glyphs) for rank in one.ranks if ranks or (rank.phase and one.state != "serving"))


def _deployment(one: WatchedDeployment) -> ScreenRow:
    up = sum(rank.part.up for rank in one.ranks)
    numbers = (
        cell(_rate(one.rate("written")), 6, right=True),
        cell(_rate(one.rate("read")), 6, right=True),
        cell(round(one.sum("num_requests_running")), 4, right=True),
        cell(round(one.sum("num_requests_waiting")), 4, right=True),
        cell(f"{100 * one.kv_use:.0f}%", 4, right=True),
    )
    parts = [
        (cell(one.name, 20), "bold"),
        (cell(one.state, 11), STATES.get(one.state, "dim")),
        (cell(f"{up}/{len(one.ranks)}", 5), ""),
        ("".join(numbers), ""),
    ]
    return ScreenRow(parts, ("deployment", one.stored.hash), f"sparkops status {shlex.quote(one.name)}")


def _rate(value: float | None) -> str | None:
    return None if value is None else f"{value:.1f}" if value < 100 else f"{value:.0f}"


def logs_of(node: str) -> str:
    return f"sparkops logs --limit {shlex.quote(node)}"


def boot(rank: Rank, glyphs: Glyphs) -> ScreenRow:
    """How far one rank is with its boot."""
    phase = rank.phase
    percent, text = (phase.percent, phase.text) if phase else (0, rank.part.shown)
    bar = f"{glyphs.bar(percent / 100, 10)} {percent:3}%  " if percent else " " * 17
    parts = [
        ("  ", ""),
        (cell(rank.node.name, 12), "dim"),
        (cell(rank.member.role, 6), "dim"),
        (bar, "warn"),
        (printable_line(text, 200), ""),
    ]
    return ScreenRow(parts, ("log", f"{rank.node.name}/{rank.container}"), logs_of(rank.node.name))


def nodes(shown: Picture, glyphs: Glyphs, *, by_load: bool = False) -> Iterator[ScreenRow]:
    """In the order of the inventory, or those with the least memory left first."""
    heads = (
        cell("node", 12),
        cell("memory used", 15),
        cell("cache", 9, right=True),
        cell("gpu%", 4, right=True),
        cell("MHz", 4, right=True),
        cell("W", 3, right=True),
        cell("C", 3, right=True),
        cell("link Gb/s", 10, right=True),
    )
    yield ScreenRow([("".join(heads), "dim")])
    found = sorted(shown.nodes.values(), key=_room) if by_load else shown.nodes.values()
    wrong = {alert.node for alert in shown.alerts}
    yield from (_node(node, glyphs, "!" if node.name in wrong else "") for node in found)


def _room(node: WatchedNode) -> int:
    return node.frame.memory.available_kib if node.frame else -1


def _node(node: WatchedNode, glyphs: Glyphs, mark: str) -> ScreenRow:
    about, copy = ("node", node.name), f"sparkops facts {shlex.quote(node.name)}"
    frame = node.frame
    if node.problem or frame is None:
        return ScreenRow(
            [(cell(node.name, 12), "bold"), (printable_line(node.problem, 200), "bad")],
            about,
            "sparkops preflight --only ssh,host-key",
        )
    memory = frame.memory
    share = 1 - memory.available_kib / memory.total_kib if memory.total_kib else 0.0
    used = f"{glyphs.bar(share, 10)} {100 * share:3.0f}%"
    load = frame.gpu_load if isinstance(frame.gpu_load, GpuLoad) else None
    watts = load.power_watts if load else None
    traffic = node.traffic
    numbers = (
        cell(kib_text(memory.page_cache_kib), 9, right=True),
        cell(load and load.utilization_percent, 4, right=True),
        cell(load and load.clock_mhz, 4, right=True),
        cell(watts if watts is None else round(watts), 3, right=True),
        cell(load and load.temperature_celsius, 3, right=True),
        cell(traffic and f"{traffic.received / GBIT:.1f}/{traffic.sent / GBIT:.1f}", 10, right=True),
    )
    meaning = "bad" if share > FULL else "warn" if share > TIGHT else ""
    name = [(cell(node.name, 12)[:-1], "bold"), (mark or " ", "bad")]
    return ScreenRow([*name, (cell(used, 15), meaning), ("".join(numbers), "")], about, copy)
