"""What is wrong, as rows: one for each problem, however many nodes have it. Pure."""

import re
from collections.abc import Iterable, Iterator

from sparkops.core.facts.reading import grouped
from sparkops.core.printable import printable_line
from sparkops.core.watch.alerts import Alert
from sparkops.core.watch.picture import Picture
from sparkops.verbs.watch.rows import ScreenRow, cell

_COMMAND = re.compile(r"`([^`]+)`|(\bsparkops [a-z][^;`]*)")


def problems(alerts: Iterable[Alert]) -> Iterator[ScreenRow]:
    """One row for what is wrong at several nodes in the same way."""
    for alike in grouped((_alike(alert), alert) for alert in alerts).values():
        first = alike[0]
        nodes = " ".join(alert.node for alert in alike)
        where = f"{len(alike)} nodes" if len(alike) > 1 else first.node or first.deployment
        mark, how = ("! ", "bad") if first.grave else ("- ", "warn")
        parts = [(mark, how), (cell(where, 12), "bold"), (printable_line(first.text, 400), "")]
        yield ScreenRow(
            parts,
            ("problem", " ".join(_alike(first))),
            command_in(first.next),
            f"{nodes} {first.id} {first.deployment}",
        )


def _alike(alert: Alert) -> tuple[str, str, str]:
    return alert.id, alert.deployment, alert.text.replace(alert.node, "") if alert.node else alert.text


def of_problem(name: str, shown: Picture) -> list[Alert]:
    """The alerts that stand in one row of `problems`."""
    return [alert for alert in shown.alerts if " ".join(_alike(alert)) == name]


def command_in(text: str) -> str:
    """The first command of a hint, else all of it."""
    found = _COMMAND.search(text)
    return (found[1] or found[2]).strip() if found else text
