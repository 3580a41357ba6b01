"""The live screen: what keys do, and that nothing of a node reaches the terminal as it is."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkops.core.printable import UNSAFE
from sparkops.core.watch.alerts import Alert
from sparkops.core.watch.picture import Picture, picture
from sparkops.verbs.watch import problems
from sparkops.verbs.watch.app import WatchScreen
from sparkops.verbs.watch.chart import BLOCKS, PLAIN
from sparkops.verbs.watch.page import drawn, rows_of
from sparkops.verbs.watch.view import PAGES, View
from support.frames import HASH, a_deployment, a_frame, container_line, engine_text, watched_node

HEAD, WORKER = f"sparkops-chat-head-{HASH[:8]}", f"sparkops-chat-worker-{HASH[:8]}"


def a_picture(log: str = "Loading weights took 3.0 seconds", served: str = "openai/gpt-oss-120b") -> Picture:
    told = {"engines": {HEAD: engine_text("000 7", log)}, "containers": [container_line(HEAD, role="head")]}
    nodes = [watched_node(*(a_frame(uptime=u, **told) for u in (100.0, 102.0)), name=f"spark{n}") for n in range(1, 13)]
    return picture(2.0, {node.name: node for node in nodes}, [a_deployment(served=served)], ())


def text_of(view: View, shown: Picture, size=(80, 24), glyphs=PLAIN) -> list[str]:
    lines = drawn(view, shown, rows_of(view, shown, glyphs), size, "12:00:00", "")
    return ["".join(text for text, _ in line) for line in lines]


VIEWS = [
    *(View(page) for page in PAGES),
    *(View(opened=one) for one in (("node", "spark1"), ("deployment", HASH), ("keys", ""))),
]


@pytest.mark.parametrize("size", [(80, 24), (40, 10), (200, 60)])
@pytest.mark.parametrize("view", VIEWS, ids=lambda view: (view.opened or (view.page,))[0])
def test_a_screen_has_its_size(view, size):
    lines = text_of(view, a_picture(), size)
    assert len(lines) == size[1]
    assert all(len(line) <= size[0] for line in lines)


@given(st.text(), st.sampled_from(VIEWS))
def test_nothing_that_a_terminal_obeys_is_drawn(hostile, view):
    for line in text_of(view, a_picture(f"Loading weights took 3.0 seconds\n{hostile}", hostile)):
        assert not UNSAFE.search(line)
        assert "\n" not in line


class Shown:
    """One picture, whenever it is looked at."""

    def __init__(self, shown: Picture) -> None:
        self.shown = shown

    def look(self, seldom: bool = False) -> Picture:
        return self.shown

    def log(self, opened: tuple[str, str] | None) -> list[str]:
        return ["a line of the log"] if opened and opened[0] == "log" else []

    def again(self, text: str) -> str:
        return text.replace("sparkops ", "sparkops -i lab ")


async def pressed(shown: Picture, *keys: str) -> tuple[WatchScreen, str]:
    app = WatchScreen(Shown(shown), lambda: "12:00:00", BLOCKS)
    async with app.run_test(size=(80, 24)) as pilot:
        for key in keys:
            await pilot.press(key)
        await pilot.pause()
        return app, app.export_screenshot().replace("&#160;", " ")


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ((), "fleet"),
        (("2",), "nodes"),
        (("tab", "tab"), "deployments"),
        (("p",), "PAUSED"),
        (("?",), "next page"),
        (("2", "enter"), "spark1"),
        (("2", "enter", "escape"), "memory used"),
        (("slash", *"spark12", "enter"), "filter: spark12"),
        (("slash", "x", "escape", "2"), "spark12"),
        (("3", "enter", "down", "enter"), "a line of the log"),
        (("3", "c"), "copied: sparkops -i lab"),
    ],
    ids=str,
)
def test_keys(keys, told):
    _, shown = asyncio.run(pressed(a_picture(), *keys))
    assert told in shown


def test_a_gpu_that_tells_nothing_is_shown_as_unknown():
    node = watched_node(a_frame(gpu="[N/A], [N/A], [N/A], [N/A], P8, [N/A]"))
    (row,) = [line for line in text_of(View("nodes"), picture(0.0, {"spark1": node}, ())) if "spark1" in line]
    assert row.split()[-5:-1] == ["-"] * 4


def test_a_problem_says_for_how_long_it_is_there():
    alert = Alert("x", "a text", "a hint")
    shown = picture(790.0, {}, [], [alert], picture(70.0, {}, [], [alert]))
    rows = problems.problems(shown.alerts)
    opened = next(row.about for row in rows if row.about)
    assert any("for:   12 min" in line for line in text_of(View(opened=opened), shown))


def test_q_ends_it():
    app, _ = asyncio.run(pressed(a_picture(), "q"))
    assert not app.is_running


def test_a_tick_that_comes_after_the_end_does_nothing():
    async def late() -> None:
        app, _ = await pressed(a_picture())
        app._tick()

    asyncio.run(late())
