"""What the page gets: only what changed, the last hour, and a day in a file."""

import json
import math

import pytest

from sparkops.core.watch.alerts import Alert
from sparkops.core.watch.picture import Picture, picture
from sparkops.errors import UsageError
from sparkops.files.kept_day import KeptDay
from sparkops.verbs.web.history import POINTS, SHOWN, ChartedValues, PageHistory
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
    for at in range(3 * POINTS):
        series.add(at, {"a": at} if at < POINTS else {"a": at, "b": 1.0})
    assert POINTS <= len(series.times) <= POINTS * 5 // 4
    shown = series.shown()
    assert len(shown["times"]) <= SHOWN
    assert len(shown["values"]["a"]) == len(shown["values"]["b"]) == len(shown["times"])


def test_what_was_not_known_is_left_open():
    series = ChartedValues()
    series.add(1.0, {"a": 1.0})
    series.add(2.0, {"b": math.nan})
    assert series.shown() == {"times": [1.0, 2.0], "values": {"a": [1.0, None], "b": [None, None]}}


def test_a_clock_that_is_set_back_begins_anew():
    series = ChartedValues()
    for at in (10.0, 12.0, 5.0, 7.0):
        series.add(at, {"a": at})
    assert series.shown() == {"times": [5.0, 7.0], "values": {"a": [5.0, 7.0]}}


def test_what_is_gone_is_forgotten():
    history = PageHistory()
    history.add(picture(1.0, nodes(100.0), [a_deployment()]), 1.0)
    assert history.of("spark1", "hour", 1.0)["times"] == [1.0]
    history.add(Picture(2.0), 2.0)
    assert history.of("spark1", "hour", 2.0)["times"] == []


def test_a_day_is_there_again_after_a_restart(tmp_path):
    path = tmp_path / "a folder" / "day.sqlite"
    kept = KeptDay(path)
    for at in range(0, 100_000, 20):
        kept.add("spark1", at, {"gpu": at // 60})
    kept.close()
    again = KeptDay(path)
    shown = again.of("spark1", 100_000)
    assert shown["times"] == list(range(13_620, 99_960, 60))
    assert shown["values"]["gpu"] == [at // 60 for at in shown["times"]]
    assert again.of("spark2", 100_000) == {"times": [], "values": {}}
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
