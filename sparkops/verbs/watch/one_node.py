"""A node that is opened alone: who holds its memory, what it carried lately, what is on it. Pure."""

import shlex
from collections.abc import Iterator

from sparkops.core.facts import Scheduled, known
from sparkops.core.printable import printable_line
from sparkops.core.sizes import kib_text
from sparkops.core.watch.document import owners
from sparkops.core.watch.frame import WatchFrame
from sparkops.core.watch.node import WatchedNode
from sparkops.verbs.watch.chart import Glyphs
from sparkops.verbs.watch.rows import ScreenRow
from sparkops.verbs.watch.tables import GBIT

CHART = 30
LABEL = 17

TRENDS = (
    ("gpu", "GPU load", 100, "%", 1.0),
    ("watts", "GPU power", 1, "W", 100.0),
    ("received", "link in", 1 / GBIT, "Gb/s", GBIT),
    ("sent", "link out", 1 / GBIT, "Gb/s", GBIT),
    ("written", "tokens out", 1, "/s", 10.0),
    ("read", "tokens in", 1, "/s", 10.0),
)
"""Of each small chart: the name of its values, its title, a factor to its unit, and the value that is its whole height
(or a higher one)."""


def rows(node: WatchedNode, glyphs: Glyphs) -> Iterator[ScreenRow]:
    if node.frame is None:
        yield ScreenRow([(printable_line(node.problem, 400), "bad")])
        return
    yield from _memory(node, node.frame, glyphs)
    yield from _trends(node, glyphs)
    yield from _devices(node.frame)
    yield from _running(node, node.frame)


def _row(label: str, text: str, about: tuple[str, str] | None = None, copy: str = "") -> ScreenRow:
    return ScreenRow([(f"{label:<{LABEL}}", "bold"), (text, "")], about, copy)


def _memory(node: WatchedNode, frame: WatchFrame, glyphs: Glyphs) -> Iterator[ScreenRow]:
    total = frame.memory.total_kib
    yield _row("memory", f"{kib_text(total)}, {kib_text(frame.memory.available_kib)} available")
    for one in owners(node):
        owner, share = one["owner"] or "processes and kernel", one["used_kib"] / total if total else 0.0
        yield _row("", f"{glyphs.bar(share, 20)} {kib_text(one['used_kib']):>9}  {owner}")


def _trends(node: WatchedNode, glyphs: Glyphs) -> Iterator[ScreenRow]:
    for name, title, factor, unit, top in TRENDS:
        values = node.trends.get(name, ())
        if values:
            chart = (glyphs.trend(values, CHART, top), "")
            now = f" {values[-1] * factor:8.1f} {unit}, most {max(values) * factor:.1f}"
            yield ScreenRow([(f"{title:<{LABEL}}", "bold"), chart, (now, "")], copy=f"sparkops facts {node.name}")


def _devices(frame: WatchFrame) -> Iterator[ScreenRow]:
    stalls = ", ".join(f"{name} {share:g} %" for name, share in known(frame.stall, {}).items())
    yield _row("waited", f"{stalls or '-'} of the last 10 s")
    for device in known(frame.carried, ()):
        state = f"{device.gbits:g} Gb/s" if device.active and device.gbits else "no link"
        yield _row("link", f"{device.name} {device.interface}, {state}")
    for use, disk in known(frame.disk, {}).items():
        yield _row("disk", f"{use}: {kib_text(disk.free_kib)} of {kib_text(disk.total_kib)} free")
    if isinstance(frame.schedule, Scheduled) and frame.schedule.last:
        yield _row("last cache drop", frame.schedule.last.how)


def _running(node: WatchedNode, frame: WatchFrame) -> Iterator[ScreenRow]:
    for one in known(frame.seen, ()):
        text = f"{one.state}, {one.restarts} restarts  {one.name}"
        yield _row("container", text, ("log", f"{node.name}/{one.name}"))
    for job in known(frame.jobs, ()):
        if job.alive:
            yield _row("job", job.id, copy=f"sparkops jobs logs {shlex.quote(job.id)}")
