"""`watch --web` of a lab, and what its page shows."""

import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Any

from support.ports import free_port
from support.tool import Tool


class Web:
    """A process that serves the page, and all that it has said."""

    def __init__(self, lab: Tool, *words: object) -> None:
        self.process = lab.start("watch", "--web", "--listen", free_port(), *words)
        self.said: list[str] = []
        for stream in (self.process.stderr, self.process.stdout):
            threading.Thread(target=self._read, args=(stream,), daemon=True).start()

    def _read(self, stream: IO[str]) -> None:
        for line in stream:
            self.said.append(line.rstrip())

    @property
    def links(self) -> list[str]:
        """Each opens once; the last one has not been used."""
        return [found[0] for line in self.said if (found := re.search(r"https?://\S+token=\S+", line))]


@contextmanager
def watch_web(lab: Tool, *words: object) -> Iterator[Web]:
    made = Web(lab, *words)
    try:
        while made.process.poll() is None and not made.links:
            time.sleep(0.1)
        assert made.links, made.said
        yield made
    finally:
        made.process.terminate()
        made.process.wait(30)
    assert [line for line in made.said if "Traceback" in line] == []


def problems(page: Any) -> list[str]:
    return [" ".join(text.split()) for text in page.locator("#problems li").all_inner_texts()]


@dataclass
class Screens:
    """The lines that a watch prints, and its page, which say the same."""

    web: Web
    page: Any

    def show(self, where: str, alert: str) -> bool:
        """Whether both say this alert of a node, a deployment or the `fleet`."""
        line = f" {alert}:" if where == "fleet" else f" {where} {alert}:"
        return self._on_page(where, alert) and any(line in each for each in self.web.said)

    def end(self, where: str, alert: str) -> bool:
        """Whether both say that it is over."""
        line = f" {alert}: over" if where == "fleet" else f" {where} {alert}: over"
        return not self._on_page(where, alert) and any(line in each for each in self.web.said)

    def _on_page(self, where: str, alert: str) -> bool:
        return any({where, alert} <= {*text.split()} for text in problems(self.page))
