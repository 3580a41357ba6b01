"""What people used at an endpoint, as `watch` shows it; a node may say anything."""

import json

from sparkops.core.facts.raw import write_parts
from sparkops.core.fleet.usage import DayOfUse, last_day
from sparkops.core.watch.deployment import watched
from sparkops.core.watch.document import of_deployment
from sparkops.core.watch.picture import Picture
from sparkops.verbs.watch.chart import PLAIN
from sparkops.verbs.watch.detail import rows
from support.frames import HASH, a_deployment, a_frame, watched_node

LITTLE = {"requests": 1, "refused": 2, "tokens_in": 3, "tokens_out": 4, "seconds": 5}
MUCH = {"requests": 10, "refused": 0, "tokens_in": 3000, "tokens_out": 4000, "seconds": 5}
DAY = {"version": 1, "days": {"2026-11-30": {"anna": {"m": LITTLE}, "b\x1b[31m": {"m": MUCH}}}}


def shown(text: str, kind: str = "gateway") -> Picture:
    """A picture with the endpoint `chat` on a node that says this."""
    frame = a_frame(usage=write_parts({"chat": (0, text)}))
    stored = a_deployment(1, ("proxy",), kind=kind, served="")
    nodes = {"spark1": watched_node(frame)}
    return Picture(0.0, nodes, (watched(stored, nodes),))


def lines(picture: Picture) -> list[str]:
    return ["".join(part for part, _ in row.parts) for row in rows(("deployment", HASH), picture, PLAIN)]


def test_who_used_most_comes_first_and_no_name_reaches_the_terminal_as_it_is() -> None:
    told = lines(shown(json.dumps(DAY)))
    (head,) = [at for at, line in enumerate(told) if line.startswith("used")]
    assert told[head].endswith("on 2026-11-30 (UTC)")
    first, second = told[head + 2 : head + 4]
    assert (first.split()[0][0], first.split()[-4:]) == ("b", ["10", "0", "3,000", "4,000"])
    assert (second.split()[0], second.split()[-4:]) == ("anna", ["1", "2", "3", "4"])
    assert "\x1b" not in "".join(told)


def test_the_document_has_it_for_endpoints_alone() -> None:
    (one,) = shown(json.dumps(DAY)).deployments
    assert of_deployment(one)["usage"]["people"][0] == {"name": "anna", "model": "m", **LITTLE}
    (other,) = shown(json.dumps(DAY), kind="chat").deployments
    assert of_deployment(other)["usage"] is None


def test_whatever_the_file_has_it_is_a_day_or_nothing() -> None:
    for text in ("", "{", "[]", '{"days": {"x": {"a": {"m": {}}}}}', json.dumps(DAY)[:-9], "[" * 9999):
        assert last_day(text) == DayOfUse()
        assert "used" not in "".join(lines(shown(text)))[:4]
    huge = {"days": {"2026-11-30": {"anna": {"m": {"tokens_in": 10**400, "tokens_out": 1e308, "requests": 1}}}}}
    assert last_day(json.dumps(huge)).sums["anna", "m"] == {**dict.fromkeys(LITTLE, 0), "requests": 1}
    assert "anna" in "".join(lines(shown(json.dumps(huge))))
    days = {"2026-11-28": {"anna": {"m": MUCH}}, "2026-11-29": {"anna": {"m": LITTLE}}, "2026-99-99": 3}
    assert last_day(json.dumps({"days": days})) == DayOfUse("2026-11-29", {("anna", "m"): LITTLE})
