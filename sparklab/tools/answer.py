"""The answer of a node's program, without a process of its own."""

import contextlib
import importlib
import io
import os
from collections.abc import Iterator

from sparklab.layout import Node
from sparklab.tools.registry import TOOLS


class Answer:
    """What was written to which stream (1 or 2), in this order, and the exit code.

    No dataclass: each program of a node imports this, and `dataclasses` is a fifth of what it imports.
    """

    def __init__(self) -> None:
        self.pieces: list[tuple[int, str]] = []
        self.code = 0

    def on(self, stream: int) -> str:
        return "".join(text for number, text in self.pieces if number == stream)


def answer(node: Node, program: str, words: list[str]) -> Answer:
    """Return the answer of a node's program that neither waits nor reads its input."""
    told = Answer()
    with _on(node), contextlib.redirect_stdout(_Stream(told, 1)), contextlib.redirect_stderr(_Stream(told, 2)):
        told.code = importlib.import_module(TOOLS[program]).main(program, words)
    return told


class _Stream(io.StringIO):
    def __init__(self, told: Answer, number: int) -> None:
        super().__init__()
        self._told, self._number = told, number

    def write(self, text: str) -> int:
        self._told.pieces.append((self._number, text))
        return len(text)


@contextlib.contextmanager
def _on(node: Node) -> Iterator[None]:
    """Set the environment by which programs know their node."""
    before = {name: os.environ.get(name) for name in ("SPARKLAB_NODE", "SPARKLAB_SUDO", "SPARKOPS_ROOT")}
    os.environ.pop("SPARKLAB_SUDO", None)
    os.environ.update(SPARKLAB_NODE=node.directory, SPARKOPS_ROOT=node.root())
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value
