"""What runs on this machine, told by command lines and environments."""

import contextlib
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Process:
    pid: int
    words: list[str]
    environment: list[str]

    @property
    def line(self) -> str:
        return " ".join(self.words)

    def has(self, mark: str) -> bool:
        """Whether a variable begins with the mark, as `NAME=` does."""
        return any(one.startswith(mark) for one in self.environment)

    def names(self, text: str) -> bool:
        """Whether its command line or its environment has the text anywhere."""
        return any(text in one for one in (*self.words, *self.environment))


def living(*marks: str) -> list[Process]:
    """Those whose environment has variables that begin with all these marks."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            texts = [(entry / name).read_bytes().decode(errors="replace") for name in ("cmdline", "environ")]
            words, environment = (text.removesuffix("\0").split("\0") for text in texts)
            found.append(Process(int(entry.name), words, environment))
    return [one for one in found if all(map(one.has, marks))]
