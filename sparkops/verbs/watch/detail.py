"""What is opened alone: a node, a deployment, a problem. Pure."""

from collections.abc import Iterator, Sequence
from itertools import islice

from sparkops.core.endpoints import api_url
from sparkops.core.energy import LEFT_OUT, energy_text
from sparkops.core.fleet.usage import DayOfUse
from sparkops.core.printable import printable_line
from sparkops.core.watch.deployment import UNWATCHED, Rank, WatchedDeployment
from sparkops.core.watch.notice import span
from sparkops.core.watch.picture import Picture
from sparkops.verbs.watch import one_node
from sparkops.verbs.watch.chart import Glyphs
from sparkops.verbs.watch.problems import command_in, of_problem, problems
from sparkops.verbs.watch.rows import ScreenRow, cell
from sparkops.verbs.watch.tables import boot, deployments, logs_of

KEYS = {
    "1 2 3 4": "the pages: fleet, nodes, deployments, problems",
    "tab": "the next page",
    "up, down": "choose a row (also k and j)",
    "enter": "open a node, a deployment, a problem, a container's log",
    "escape": "back; on a page, end the filter",
    "/": "show only rows that have a word",
    "s": "sort nodes: as in the inventory, or the least memory first",
    "p": "pause: keep what is on the screen",
    "c": "copy the command that mends or shows the chosen row",
    "q": "quit",
}

COLUMNS = {
    "!  -": "grave: somebody is not served, or soon will not be; less so",
    "ranks": "containers that run, of all that belong to it",
    "out/s  in/s": "tokens per second that are written, and read from prompts",
    "run  wait": "requests",
    "kv": "share of the KV cache in use, of the fullest engine",
    "cache": "page cache; it is a part of the available memory",
    "gpu  MHz  W  C": "load of the GPU in percent, its clock, power and temperature",
    "link Gb/s": "what all QSFP links of the node receive / send",
    "waited": "share of the time that tasks waited for CPU, disk, memory",
}
WORD = 16
USED = {"requests": "requests", "refused": "refused", "tokens_in": "tokens in", "tokens_out": "out"}
"""What is shown of what people used, with the heads of the columns."""


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
    yield from problems(alerts)
    if alerts:
        yield ScreenRow([])


def _problem(name: str, shown: Picture) -> Iterator[ScreenRow]:
    alerts = of_problem(name, shown)
    if not alerts:
        yield ScreenRow([("this is over", "good")])
        return
    first, command = alerts[0], command_in(alerts[0].next)
    yield ScreenRow([(printable_line(first.text, 1000), "bad" if first.grave else "warn")], whole=True)
    yield ScreenRow([])
    yield ScreenRow([("to do: ", "bold"), (printable_line(first.next, 1000), "")], copy=command, whole=True)
    yield ScreenRow([("alert: ", "bold"), (first.id, "")])
    yield ScreenRow([("for:   ", "bold"), (span(shown.now - shown.since.get(first.key, shown.now)), "")])
    for alert in alerts:
        about = ("node", alert.node) if alert.node else None
        yield ScreenRow([("at:    ", "bold"), (alert.node or alert.deployment, "")], about)


def _keys() -> Iterator[ScreenRow]:
    for key, text in KEYS.items():
        yield ScreenRow([(f"{key:<{WORD}}", "bold"), (text, "")], copy=text)
    yield ScreenRow([])
    for word, text in COLUMNS.items():
        yield ScreenRow([(f"{word:<{WORD}}", "bold"), (text, "")], copy=text)


def _deployment(digest: str, shown: Picture, glyphs: Glyphs) -> Iterator[ScreenRow]:
    one = next((found for found in shown.deployments if found.stored.hash == digest), None)
    if one is None:
        yield ScreenRow([("it does not run any more", "dim")])
        return
    yield from _of(one.name, shown)
    for row in islice(deployments(Picture(shown.now, shown.nodes, (one,)), glyphs), 2):  # its heads and itself
        yield ScreenRow(row.parts, None, row.copy)
    yield ScreenRow([])
    yield from _told_of(one)
    yield from (boot(rank, glyphs) if rank.phase else _rank(rank) for rank in one.ranks)


def _told_of(one: WatchedDeployment) -> Iterator[ScreenRow]:
    failed = round(one.sum("failed_requests"))
    done = round(one.sum("request_success_total")) - failed
    told = {
        "model": one.stored.served,
        "recipe": f"{one.stored.recipe}, {one.stored.topology}",
        "at": ", ".join(f"{api_url(member)}/v1" for member in one.stored.fronts),
        "requests": f"{done} done, {failed} failed since the engine started",
        "speculation": "" if one.accepted is None else f"{100 * one.accepted:.0f} % of the speculated tokens held",
    }
    for word, text in told.items():
        if text:
            yield ScreenRow([(f"{word:<{WORD}}", "bold"), (text, "")])
    yield from _energy(one)
    yield from _usage(one.usage) if one.usage else ()


def _usage(used: DayOfUse) -> Iterator[ScreenRow]:
    """Who used what at the endpoint of a fleet, most tokens first."""
    yield ScreenRow([(f"{'used':<{WORD}}", "bold"), (f"on {used.day} (UTC)" if used.day else "nothing today", "")])
    if used.sums:
        yield ScreenRow([("  " + _used_row("who", "model", list(USED.values())), "dim")])
    for (person, model), sums in sorted(used.sums.items(), key=lambda it: -it[1]["tokens_in"] - it[1]["tokens_out"]):
        text = _used_row(person, model, [f"{sums[name]:,.0f}" for name in USED])
        yield ScreenRow([("  " + text, "")], copy="sparkops gateway usage")


def _used_row(person: str, model: str, numbers: Sequence[str]) -> str:
    who, what = cell(printable_line(person, 60), 12), cell(printable_line(model, 200), 16)
    return who + what + "".join(cell(one, 9, right=True) for one in numbers)


def _energy(one: WatchedDeployment) -> Iterator[ScreenRow]:
    token, request = one.joules_per("written"), one.joules_per("done")
    if token is not None:
        yield ScreenRow([(f"{'energy':<{WORD}}", "bold"), (energy_text(token, request), "")])
        yield ScreenRow([(f"{'':<{WORD}}{LEFT_OUT}", "dim")], whole=True)


def _rank(rank: Rank) -> ScreenRow:
    restarts = f", {rank.seen.restarts} restarts" if rank.seen and rank.seen.restarts else ""
    shown = UNWATCHED if rank.node.problem == UNWATCHED else rank.part.shown
    text = f"  {rank.node.name:<12}  {rank.member.role:<6}  {shown}{restarts}"
    return ScreenRow([(text, "")], ("log", f"{rank.node.name}/{rank.container}"), logs_of(rank.node.name))
