"""Chromium, and what a page of ours must hold in it."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
SCREENS = Path(os.environ.get("SPARKOPS_SCREENS", "build/screens"))
"""Where pictures of pages are left to be looked at."""

WIDE, PHONE = (1440, 900), (390, 844)


@contextmanager
def chromium() -> Iterator[Any]:
    """A browser, or the test is skipped where there is none."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed")
    with playwright.sync_playwright() as made:
        flags = ["--no-sandbox", "--disable-dev-shm-usage", "--js-flags=--expose-gc", "--enable-precise-memory-info"]
        browser = made.chromium.launch(executable_path=CHROMIUM, args=flags)
        yield browser
        browser.close()


@contextmanager
def opened(browser: Any, url: str, size: tuple[int, int] = WIDE, dark: bool = False) -> Iterator[Any]:
    """The page at this address; nothing may go wrong in it, and nothing be asked of anybody else."""
    context = browser.new_context(
        viewport={"width": size[0], "height": size[1]}, color_scheme="dark" if dark else "light"
    )
    page, wrong = context.new_page(), []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda told: wrong.append(told.text) if told.type == "error" else None)
    page.on("dialog", lambda dialog: (wrong.append(f"dialog: {dialog.message}"), dialog.dismiss()))
    page.on("response", lambda answer: wrong.append(f"{answer.status} {answer.url}") if answer.status >= 400 else None)
    origin = "/".join(url.split("/")[:3])
    page.on("request", lambda asked: None if asked.url.startswith((origin, "data:")) else wrong.append(asked.url))
    page.goto(url)
    page.wait_for_selector("#problems", state="attached")  # the link leads on to the page
    yield page
    context.close()
    assert wrong == [], wrong


def violations(page: Any) -> list[str]:
    """What axe finds against WCAG 2.2 AA."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
    found = axe.run(page, options={"runOnly": {"type": "tag", "values": tags}})
    return [f"{one['id']}: {node['html'][:200]}" for one in found.response["violations"] for node in one["nodes"]]


def kept(page: Any, name: str) -> None:
    SCREENS.mkdir(parents=True, exist_ok=True)
    page.evaluate("scrollTo(0, 0)")
    page.screenshot(path=SCREENS / f"{name}.png", full_page=True)


def heap(page: Any) -> int:
    """Bytes that the page's objects take after what is not used was collected."""
    client = page.context.new_cdp_session(page)
    for _ in range(3):
        client.send("HeapProfiler.collectGarbage")
    return int(client.send("Runtime.getHeapUsage")["usedSize"])


def overflow(page: Any) -> int:
    """Pixels by which the page is wider than its window."""
    return int(page.evaluate("document.documentElement.scrollWidth - innerWidth"))


def holds(page: Any, expression: str, seconds: float = 30.0) -> bool:
    """Wait until it is true in the page, whose policy allows no `eval`, which Playwright's own waiting needs."""
    for _ in range(int(seconds * 20)):
        if page.evaluate(expression):
            return True
        page.wait_for_timeout(50)
    return False
