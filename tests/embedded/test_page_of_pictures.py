"""The page in a real browser over pictures that a test makes: who may enter, what hostile nodes can do, its growth."""

import json
import re
import threading
import time
import urllib.error
import urllib.request

import pytest

from sparkops.core.watch.alerts import Alert
from sparkops.core.watch.node import heard
from sparkops.core.watch.picture import Picture, picture
from support.browser import PHONE, chromium, heap, holds, kept, opened, overflow, violations
from support.frames import HASH, a_deployment, a_frame, container_line, engine_text, watched_node
from support.page import Served, served

HEAD = f"sparkops-chat-head-{HASH[:8]}"
SCRIPT = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>'
HOSTILE = f"{SCRIPT}\x1b[2J\u202e';alert(1)//"


@pytest.fixture(scope="module")
def browser():
    with chromium() as made:
        yield made


@pytest.fixture
def page():
    with served() as made:
        yield made


def frames(at: int, **told: object) -> object:
    counters = engine_text(generation_tokens_total=100 * at, prompt_tokens_total=at, num_requests_running=2)
    return a_frame(
        uptime=100.0 + 2 * at, containers=[container_line(HEAD, role="head")], engines={HEAD: counters}, **told
    )


def a_picture(count: int = 2, at: int = 8, found: tuple[Alert, ...] = ()) -> Picture:
    nodes = {f"spark{n}": watched_node(*(frames(k) for k in range(at)), name=f"spark{n}") for n in range(1, count + 1)}
    return picture(2.0 * at, nodes, [a_deployment()], found)


def asked(page: Served, path: str, method: str = "GET", **headers: str) -> int:
    request = urllib.request.Request(f"{page.origin}{path}", method=method, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return int(error.code)


def entered(page: Served) -> str:
    """The cookie of somebody who opened the link."""
    with urllib.request.urlopen(page.link, timeout=10) as answer:
        return str(answer.headers["Set-Cookie"]).partition(";")[0]


PATHS = ("/", "/page.js", "/api/events", "/api/history?of=spark1", "/api/log", "/api/about", "/api/shown/fabric")


@pytest.mark.parametrize("path", PATHS)
def test_nobody_enters_without_the_link_or_from_elsewhere(page, path):
    assert asked(page, path) == 403
    cookie, used = entered(page), page.links[0]
    assert asked(page, path, Cookie="sparkops=wrong") == 403
    assert asked(page, path, Cookie=cookie, Host="evil.example") == 403
    assert asked(page, path, Cookie=cookie, Origin="https://evil.example") == 403
    assert asked(page, f"/?token={used}") == 403, "a token that was used"
    assert asked(page, "/?token=t%C3%B6", Cookie=cookie) == 403
    if path != "/":
        assert asked(page, path, Cookie=cookie, **{"Sec-Fetch-Site": "cross-site"}) == 403
    if path != "/api/events":
        assert asked(page, path, Cookie=cookie) in (200, 404)


def test_nothing_is_changed_unless_it_is_allowed_and_asked_for_by_the_page(page):
    page.show(a_picture())
    cookie = entered(page)
    body = {"Content-Type": "application/json"}
    assert asked(page, "/api/change", "POST", Cookie=cookie, **body) == 403, "without an origin"
    assert asked(page, "/api/change", "POST", Cookie=cookie, Origin="null", **body) == 403
    assert asked(page, "/api/change", "POST", Origin=page.origin, **body) == 403, "without a session"
    request = urllib.request.Request(f"{page.origin}/api/change", method="POST")
    request.data = json.dumps({"verb": "stop", "deployment": "chat", "check": True}).encode()
    for name, value in {"Cookie": cookie, "Origin": page.origin}.items():
        request.add_header(name, value)
    with pytest.raises(urllib.error.HTTPError, match="403"):
        urllib.request.urlopen(request, timeout=10)


def test_what_hostile_nodes_say_is_text(browser, page):
    row = container_line(HEAD, role="head")
    frame = a_frame(
        containers=[row],
        gpu=HOSTILE,
        gpu_processes=f"123, {SCRIPT}, 4096 MiB",
        engines={HEAD: f"http 000 7\nlog\nLoading {HOSTILE}"},
    )
    stored = a_deployment(served=HOSTILE, recipe=HOSTILE)
    alerts = [Alert(f"x{n}", HOSTILE, f"do `sparkops status {HOSTILE}`", HOSTILE, HOSTILE) for n in range(2)]
    page.log = [HOSTILE, SCRIPT]
    page.show(picture(9.0, {"spark1": watched_node(frame)}, [stored], alerts))
    with opened(browser, page.link) as shown:
        shown.wait_for_selector("#problems strong")
        shown.get_by_role("button", name=re.compile("^log of")).first.click()
        assert holds(shown, "document.getElementById('log').textContent.length > 10")
        text = shown.inner_text("body")
        assert "<script>" in text
        assert "\x1b" not in text
        assert "\u202e" not in text
        assert shown.evaluate("window.hacked") is None
        assert shown.evaluate("document.querySelectorAll('main img, main script').length") == 0


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("size", [(1440, 900), PHONE])
def test_everybody_can_use_it(browser, page, size, dark):
    slow = Alert("link-slow", "100 Gb/s, not 200", "see why: `sparkops fabric`", "spark1")
    silent = Alert("engine-silent", "no answer", "see why: `sparkops status chat`", "spark2", "chat", grave=True)
    page.show(a_picture(count=4, found=(slow, silent)))
    with opened(browser, page.link, size, dark) as shown:
        shown.wait_for_selector("#nodes .card")
        shown.get_by_role("button", name="charts of spark1").click()
        shown.wait_for_selector("#charts canvas")
        assert violations(shown) == []
        assert overflow(shown) <= 0
        kept(shown, f"pictures-{size[0]}-{'dark' if dark else 'light'}")
        shown.keyboard.press("Escape")
        assert shown.evaluate("document.activeElement.getAttribute('aria-label')") == "charts of spark1"


def test_the_focus_stays_while_everything_changes(browser, page):
    page.show(a_picture())
    with opened(browser, page.link) as shown:
        button = shown.get_by_role("button", name="charts of spark2")
        button.focus()
        for at in range(9, 20):
            page.show(a_picture(at=at, found=(Alert("x", f"{at}", "", "spark1"),) * (at % 2)))
            assert holds(shown, f"document.title.startsWith('(1)') === {'true' if at % 2 else 'false'}")
        assert shown.evaluate("document.activeElement.getAttribute('aria-label')") == "charts of spark2"


def test_the_picture_of_one_who_has_gone_costs_nothing(browser, page):
    page.show(a_picture())
    with opened(browser, page.link) as shown:
        shown.wait_for_selector("#nodes .card")
        assert page.hub.clients == 1
    for _ in range(100):
        if page.hub.clients == 0:
            break
        page.show(a_picture())
        threading.Event().wait(0.1)
    assert page.hub.clients == 0


PICTURES = 450
"""Of a quarter of an hour, one every two seconds."""
MIB = 2**20


def test_a_quarter_of_an_hour_of_64_nodes_does_not_fill_the_browser(browser):
    with served(every=0.01) as page:
        nodes = {f"spark{n}": watched_node(*(frames(k) for k in range(8)), name=f"spark{n}") for n in range(1, 65)}
        page.show(picture(16.0, nodes, [a_deployment()]))
        with opened(browser, page.link) as shown:
            shown.wait_for_selector("#nodes .card >> nth=63")
            shown.get_by_role("button", name="charts of spark1", exact=True).click()
            before, begin = heap(shown), time.time() - 2 * PICTURES
            for at in range(8, 8 + PICTURES):
                nodes = {
                    name: heard(node, frames(at, available=110_000_000 - 1000 * at), 2.0 * at)
                    for name, node in nodes.items()
                }
                alert = Alert("x", f"picture {at}", "", "spark1")
                page.show(picture(2.0 * at, nodes, [a_deployment()], [alert]), begin + 2 * at)
                if at % 20 == 0:
                    assert holds(shown, f"document.getElementById('problems').textContent.includes('picture {at}')")
            assert heap(shown) - before < 10 * MIB
