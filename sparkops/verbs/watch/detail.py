"""What is opened alone: a node, a deployment, a problem. Pure."""

from collections.abc import Iterator

from sparkops.core.printable import printable_line
from sparkops.core.watch.deployment import Rank, WatchedDeployment
from sparkops.core.watch.picture import Picture
from sparkops.verbs.watch import one_node
from sparkops.verbs.watch.chart import Glyphs
from sparkops.verbs.watch.problems import command_in, of_problem, problems
from sparkops.verbs.watch.rows import ScreenRow
from sparkops.verbs.watch.tables import boot, deployments, logs_of

KEYS = {
    "1 2 3 4": "the pages: fleet, nodes, deployments, problems",
    "tab": "the next page",
    "up, down": "choose a row (also k and j)",
    "enter": "open it: a node, a deployment, a problem, the log of a container",
    "escape": "back; on a page, end the filter",
    "/": "show only rows that have a word",
    "s": "sort nodes: as in the inventory, or the least memory first",
    "p": "pause: keep what is on the screen",
    "c": "copy the command that mends or shows the chosen row",
    "q": "quit",
}


def rows(opened: tuple[str, str], shown: Picture, glyphs: Glyphs) -> Iterator[ScreenRow]:
    kind, name = opened
    match kind:
        case "node" if name in shown.nodes:
            yield from _of(name, shown)
            yield from one_node.rows(shown.nodes[name], glyphs)
        case "deployment":
            yield from _deployment(name, shown, glyphs)
        case "problem":
            yield from _problem(name, shown)
        case "keys":
            yield from _keys()
        case _:
            yield ScreenRow([("it is gone", "dim")])


def title(opened: tuple[str, str], shown: Picture) -> str:
    kind, name = opened
    named = {one.stored.hash: one.name for one in shown.deployments}
    return {"deployment": named.get(name, "gone"), "problem": "problem", "keys": "keys"}.get(kind, name)


def _of(name: str, shown: Picture) -> Iterator[ScreenRow]:
    """What is wrong with a node or deployment."""
    alerts = [alert for alert in shown.alerts if name in (alert.node, alert.deployment)]
    yield from problems(Picture(alerts=alerts))
    if alerts:
        yield ScreenRow([])


def _problem(name: str, shown: Picture) -> Iterator[ScreenRow]:
    alerts = of_problem(name, shown)
    if not alerts:
        yield ScreenRow([("this is over", "good")])
        return
    first, command = alerts[0], command_in(alerts[0].next)
    yield ScreenRow([(printable_line(first.text, 1000), "bad" if first.grave else "warn")])
    yield ScreenRow([])
    yield ScreenRow([("to do: ", "bold"), (printable_line(first.next, 1000), "")], copy=command)
    yield ScreenRow([("alert: ", "bold"), (first.id, "")])
    for alert in alerts:
        about = ("node", alert.node) if alert.node else None
        yield ScreenRow([("at:    ", "bold"), (alert.node or alert.deployment, "")], about)


def _keys() -> Iterator[ScreenRow]:
    for key, text in KEYS.items():
        yield ScreenRow([(f"{key:<14}", "bold"), (text, "")])


def _deployment(digest: str, shown: Picture, glyphs: Glyphs) -> Iterator[ScreenRow]:
    one = next((found for found in shown.deployments if found.stored.hash == digest), None)
    if one is None:
        yield ScreenRow([("it does not run any more", "dim")])
        return
    yield from _of(one.name, shown)
    for row in deployments(Picture(shown.now, shown.nodes, (one,)), glyphs):
        yield ScreenRow(row.parts, None, row.copy)
    yield ScreenRow([])
    yield ScreenRow([(_told_of(one), "")])
    yield from (boot(rank, glyphs) if rank.phase else _rank(rank) for rank in one.ranks)


def _told_of(one: WatchedDeployment) -> str:
    done, failed = round(one.sum("request_success_total")), round(one.sum("failed_requests"))
    parts = [f"{one.stored.served} by {one.stored.recipe}, {one.stored.topology}", f"requests done: {done}"]
    accepted = next((rank.pace.accepted for rank in one.engines if rank.pace.accepted is not None), None)
    parts += [f"failed: {failed}"] if failed else []
    parts += [f"{100 * accepted:.0f} % of the speculated tokens held"] if accepted is not None else []
    return ", ".join(parts)


def _rank(rank: Rank) -> ScreenRow:
    text = f"  {rank.node.name:<12} {rank.member.role:<6} {rank.part.shown}"
    return ScreenRow([(text, "")], ("log", f"{rank.node.name}/{rank.container}"), logs_of(rank.node.name))
