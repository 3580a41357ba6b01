"""What the tutorials tell a reader to type works, in its order, and prints what the page shows."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from support.paths import ROOT

PAGES = ("tutorial.md", "first-recipe.md")
ANY = "..."
MARK = "-- the next command --"


def steps(page: str) -> list[tuple[str, list[str]]]:
    """Each command of a page with the lines that the page shows below it; `...` stands for any lines."""
    found: list[tuple[str, list[str]]] = []
    for block in re.findall(
        r"^```console\n(.*?)^```", (ROOT / "docs" / page).read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE
    ):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            else:
                found[-1][1].append(line)
    return found


def expected(lines: list[str]) -> str:
    """A pattern for an output: addresses, numbers, hashes and widths of columns differ from run to run."""
    texts = [re.escape(plain(line)).replace(re.escape(ANY), ".*") + r"\n" for line in lines]
    parts = [r"(?:.*\n)*?" if line == ANY else text for line, text in zip(lines, texts, strict=True)]
    return "".join(parts)


def plain(text: str) -> str:
    text = re.sub(r"\b[0-9a-f]{8}\b", "HASH", text)
    text = re.sub(r"\d+(\.\d+)*", "0", text)
    return re.sub(r" +", " ", text)


@pytest.mark.parametrize("page", PAGES)
def test_a_tutorial_can_be_typed_as_it_stands(page: str, tmp_path: Path) -> None:
    commands = [command for command, _ in steps(page)]
    script = "".join(f"{command}\ncode=$?; echo; echo '{MARK}'; (exit $code)\n" for command in commands)
    (tmp_path / "sparkops").write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m sparkops "$@"\n')
    (tmp_path / "sparkops").chmod(0o755)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK", "XDG_", "OPENAI"))}
    environment = kept | {
        "HOME": str(tmp_path),
        "SPARKOPS_LAB_DIR": str(tmp_path / "lab"),
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
    }
    ran = subprocess.run(
        ["bash", "-c", script + "sparkops lab down >/dev/null 2>&1; true"],
        env=environment, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
    )  # fmt: skip
    outputs = ran.stdout.split(f"\n{MARK}\n")
    assert len(outputs) == len(commands) + 1
    for (command, lines), output in zip(steps(page), outputs, strict=False):
        shown = plain(output if output.endswith("\n") or not output else output + "\n")
        assert re.fullmatch(expected(lines), shown), f"$ {command}\n{output}"
