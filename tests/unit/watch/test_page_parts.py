"""What the page gets: only what changed, the last hour, and a day in a file."""

import json
import math
import time
from dataclasses import replace

import pytest

from sparkops.core.watch.alerts import Alert
from sparkops.core.watch.picture import Picture, picture
from sparkops.errors import UsageError
from sparkops.files.kept_day import KeptDay
from sparkops.verbs.watch.options import WebOptions
from sparkops.verbs.web.history import HOUR, MOST_DRAWN, ChartedValues, PageHistory, drawn
from sparkops.verbs.web.hub import PageHub
from support.frames import HASH, a_deployment, a_frame, watched_node


def nodes(*uptimes):
    return {f"spark{n}": watched_node(*(a_frame(uptime=at) for at in uptimes), name=f"spark{n}") for n in (1, 2)}


def told(text):
    return {} if text == "" else json.loads(text)


def test_a_client_gets_all_once_and_then_what_changed():
    hub, both = PageHub(), nodes(100.0, 102.0)
    assert set(told(hub.since(0)[1])) == set()
    hub.show(picture(1.0, both, [a_deployment()]))
    number, text = hub.since(0)
    assert set(told(text)) == {"node/spark1", "node/spark2", f"deployment/{HASH}", "order", "alerts"}
    assert hub.since(number) == (number, "")
    hub.show(picture(2.0, both, [a_deployment()], [Alert("x", "", "")]))
    number, text = hub.since(number)
    assert set(told(text)) == {"alerts"}
    hub.show(picture(3.0, both, []))
    assert set(told(hub.since(number)[1])) == {"order", "alerts"}
    assert set(told(hub.since(0)[1])) == {"node/spark1", "node/spark2", "order", "alerts"}


def test_an_alert_says_when_it_began_although_nobody_looked_then():
    hub, shown, alerts = PageHub(), None, [Alert("x", "", "")]
    for now in range(100):
        shown = picture(float(now), {}, [], alerts if now >= 40 else [], shown)
        hub.show(shown)
    [one] = told(hub.since(0)[1])["alerts"]
    assert time.time() - one["since"] == pytest.approx(99 - 40, abs=5)
    number, _ = hub.since(0)
    hub.show(replace(shown, now=200.0))
    assert hub.since(number)[1] == "", "what began then does not begin again"


def test_nothing_is_known_of_what_is_not_shown():
    hub = PageHub()
    hub.show(picture(1.0, nodes(100.0), [a_deployment()]))
    assert hub.has("chat")
    assert not hub.has("chat2")
    assert hub.runs("spark1", f"sparkops-chat-head-{HASH[:8]}")
    assert not hub.runs("spark1", "other")
    assert not hub.runs("spark2", f"sparkops-chat-head-{HASH[:8]}")


def test_an_hour_is_kept_and_no_more_is_drawn_than_a_screen_shows():
    series = ChartedValues()
    for at in range(3 * HOUR):
        series.add(at, {"a": at} if at < HOUR else {"a": at, "b": 1.0})
    assert HOUR <= len(series.times) <= HOUR * 5 // 4
    shown = drawn(series.points(2 * HOUR), 75.0)
    assert len(shown["times"]) <= MOST_DRAWN
    assert shown["times"][0] >= 2 * HOUR
    assert shown["times"][-1] == 3 * HOUR - 1, "the newest is among them"
    assert len(shown["values"]["a"]) == len(shown["values"]["b"]) == len(shown["times"])


def test_what_was_not_known_is_left_open():
    series = ChartedValues()
    series.add(1.0, {"a": 1.0})
    series.add(2.0, {"b": math.nan})
    series.add(3.0, {"b": 1e39})
    series.add(99.0, {"a": 2.0})
    assert drawn(series.points(0), 75.0) == {
        "times": [1.0, 2.0, 3.0, 51.0, 99.0],
        "values": {"a": [1.0, None, None, None, 2.0], "b": [None] * 5},
    }


def test_a_clock_that_is_set_back_begins_anew():
    series = ChartedValues()
    for at in (10.0, 12.0, 5.0, 7.0):
        series.add(at, {"a": at})
    assert [*series.points(0)] == [(5.0, {"a": 5.0}), (7.0, {"a": 7.0})]


def test_what_is_gone_is_forgotten():
    history = PageHistory()
    history.add(picture(1.0, nodes(100.0), [a_deployment()]), 1.0)
    assert history.of("spark1", HOUR, 1.0)["times"] == [1.0]
    history.add(Picture(2.0), 2.0)
    assert history.of("spark1", HOUR, 2.0)["times"] == []


def test_a_day_is_there_again_after_a_restart(tmp_path):
    path = tmp_path / "a folder" / "day.sqlite"
    kept = KeptDay(path)
    for at in range(0, 100_000, 20):
        kept.add("spark1", at, {"gpu": at // 60})
    kept.close()
    again = KeptDay(path)
    shown = again.points("spark1", 100_000 - 86_400, 100_000)
    assert [at for at, _ in shown] == list(range(13_620, 100_000, 60)), "with the minute that ran at the end"
    assert all(told == {"gpu": at // 60} for at, told in shown)
    assert again.points("spark2", 0, 100_000) == []
    history = PageHistory(again)
    assert history.of("spark1", HOUR, 100_000)["times"][0] >= 100_000 - HOUR, "an hour has what a restart left"
    again.close()
    assert path.stat().st_mode & 0o077 == 0


def test_a_file_that_is_none_is_said_and_a_full_disk_does_not_end_the_watch(tmp_path):
    path = tmp_path / "day.sqlite"
    path.write_text("no database" * 1000)
    with pytest.raises(UsageError, match="day.sqlite"):
        KeptDay(path)
    kept = KeptDay(tmp_path / "other.sqlite")
    kept.add("spark1", 0, {"gpu": 1.0})
    kept.close()
    kept.add("spark1", 60, {"gpu": 1.0})
    assert "cannot be kept" in kept.problem
    assert kept.points("spark1", 0, 100) == []
    assert "cannot be read" in kept.problem


@pytest.mark.parametrize(
    ("options", "port", "origins"),
    [
        (WebOptions(), 8799, ["http://127.0.0.1:8799", "http://localhost:8799"]),
        (WebOptions(("127.0.0.2", 80)), 80, ["http://127.0.0.2", "http://localhost"]),
        (WebOptions(("0:0::1", 443), "c", "k"), 443, ["https://[::1]", "https://localhost"]),
        (WebOptions(("2001:DB8::9", 9000), "c", "k"), 9000, ["https://[2001:db8::9]:9000"]),
        (WebOptions(("Sparks.Example", 443), "c", "k"), 443, ["https://sparks.example"]),
        (WebOptions(behind="https://Sparks.example:443/"), 8799, ["https://sparks.example"]),
    ],
)
def test_addresses_are_those_that_a_browser_sends(options, port, origins):
    assert options.origins(port) == origins
