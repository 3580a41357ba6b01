"""Whole evenings as a person sees them: each file below `transcripts` is typed and must come out as it says.

`$ WORDS` is typed behind `sparkops`, `! WORDS` happens to the nodes (EVENTS). Below stand what the tool printed, its
exit code where that is not 0, and the commands that changed something on a node. To add a case, write the lines that
begin with `$` and `!`, and run `make golden`.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from textwrap import indent

import pytest

from sparkops.testing import Boot, BootRule
from support import golden
from support.world import Lab

FILES = sorted((Path(__file__).parent / "transcripts").glob("*.txt"))
LAST_WORDS = ("INFO loading", "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB")

EVENTS: dict[str, Callable[[Lab, list[str]], object]] = {
    "lose": lambda lab, words: lab.world.lose(words[0]),
    "anew": lambda lab, words: lab.anew(),
    "crash-with": lambda lab, words: lab.world.boot(BootRule.flag(words[0], Boot(crashes=True, log=LAST_WORDS))),
    "settle": lambda lab, words: lab.settle(),
    "on": lambda lab, words: lab.on(words[0], *words[1:]),
    "forget-image": lambda lab, words: lab.node(words[0]).engine.store.remove(words[1]),
    "forget-model": lambda lab, words: lab.node(words[0]).models.pop(words[1]),
    "fault": lambda lab, words: lab.fault(words[0], words[1]),
    "damage": lambda lab, words: lab.node(words[0]).damaged.add(words[1]),
    "later": lambda lab, words: lab.world.later(int(words[0]), getattr(lab.world, words[1])),
    "write": lambda lab, words: write(lab.work / words[0], words[1:]),
    "probe": lambda lab, words: lab.node(words[0]).probes.update(
        {words[1]: (int(words[2]), " ".join(words[3:]).replace("\\n", "\n"))}
    ),
}


def write(path: Path, lines: list[str]) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_an_evening_comes_out_as_its_transcript_says(path: Path, tmp_path: Path) -> None:
    lab = Lab(tmp_path, nodes=3 if path.stem.startswith("three") else 2)
    typed = [line for line in path.read_text(encoding="utf-8").splitlines() if line.startswith(("$ ", "! ", "# "))]
    golden.hold(path, "".join(after(lab, line) for line in typed))


def after(lab: Lab, line: str) -> str:
    """The line and what came of it."""
    kind, words = line[0], shlex.split(line[2:]) if line[0] != "#" else []
    if kind == "!":
        EVENTS[words[0]](lab, words[1:])
    if kind != "$":
        return f"{line}\n"
    lab.mark()
    ran = lab.cli("-i", "../inventory.yml", *words, lab=False)  # a path of the same length on every machine
    code = f"[exit {ran.code}]\n" if ran.code else ""
    sent = "".join(f"> {one.node} {one.shown}\n" for one in sorted(lab.changed(), key=lambda one: one.node))
    return f"{line}\n{indent(steady(lab, ran.out + ran.err) + code + steady(lab, sent), '    ')}\n"


def steady(lab: Lab, text: str) -> str:
    """Without what is another on each run: places, times, run numbers, new keys."""
    text = text.replace(str(lab.home), "~")
    text = re.sub(r"\bsk-[\w-]{20,}", "sk-KEY", text)
    text = re.sub(r"\b\d{8}T\d{6}Z?-[\w-]*?[0-9a-f]{8}\b", "RUN", text)
    text = re.sub(r"\brun [0-9a-f]{8}\b", "run ID", text)
    text = re.sub(r'"seconds": [\d.]+', '"seconds": 0.0', text)
    text = re.sub(r", \d+(\.\d+)? [MG]B/s, [\d:]+ left", "", text)
    text = re.sub(r" \((\d+:)?\d+:\d\d\)", "", text)
    return re.sub(r"\b\d+(\.\d+)? ?m?s\b(?= |\)|$)", "N s", text, flags=re.MULTILINE)
