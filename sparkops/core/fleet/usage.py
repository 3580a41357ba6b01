"""What people used at a fleet's endpoint, as `usage.json` on its node has it; that may be anybody's text."""

import datetime
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from sparkops.core.facts.reading import mapping

_DAY = re.compile(r"2\d{3}-\d\d-\d\d", re.ASCII)

SUMS = ("requests", "refused", "tokens_in", "tokens_out", "seconds")
"""Of a person and a model on a day: requests; those refused with 429; tokens read and written; seconds in all."""

MOST = 2**53
"""The largest number that is believed: all up to it are whole in every language."""

Sums = dict[str, float]


@dataclass(frozen=True)
class DayOfUse:
    """What people used on a day (UTC), by person and model; an empty day: nothing yet."""

    day: str = ""
    sums: Mapping[tuple[str, str], Sums] = field(default_factory=dict)


def used(text: str, today: str, days: int = 1) -> dict[tuple[str, str], Sums]:
    """The sums by person and model over the last days, today included."""
    first = (datetime.date.fromisoformat(today) - datetime.timedelta(days=days - 1)).isoformat() if days > 1 else today
    found: dict[tuple[str, str], Sums] = {}
    for date, person, model, sums in _entries(text):
        if first <= date <= today:
            before = found.setdefault((person, model), dict.fromkeys(SUMS, 0))
            found[person, model] = {name: before[name] + _number(sums.get(name)) for name in SUMS}
    return dict(sorted(found.items()))


def last_day(text: str) -> DayOfUse:
    """The last day on which somebody used something."""
    day = max((date for date, *_ in _entries(text) if _DAY.fullmatch(date)), default="")
    return DayOfUse(day, used(text, day)) if day else DayOfUse()


def tokens(sums: Mapping[tuple[str, str], Sums], person: str) -> int:
    """All tokens of a person, read and written."""
    return int(sum(one["tokens_in"] + one["tokens_out"] for (name, _), one in sums.items() if name == person))


def _entries(text: str) -> Iterator[tuple[str, str, str, Mapping[str, Any]]]:
    try:
        days = mapping(mapping(json.loads(text or "{}")).get("days"))
    except (ValueError, RecursionError):
        return
    for date, people in days.items():
        for person, models in mapping(people).items():
            yield from ((date, person, model, mapping(sums)) for model, sums in mapping(models).items())


def _number(value: Any) -> float:
    return value if isinstance(value, int | float) and 0 <= value <= MOST else 0
