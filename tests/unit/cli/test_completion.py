"""Tab in the three shells: each is started, reads our script, and is asked what it would complete."""

import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import sparkops
from sparkops.files import deployments

PLACE = Path(next(iter(sparkops.__path__))).parent

ASKED = {
    "bash": """
        . "$SCRIPT"
        COMP_WORDS=(sparkops deploy --recipe openai-gpt-oss-120b-c) COMP_CWORD=3
        _sparkops_completion sparkops
        printf '%s\\n' "${COMPREPLY[@]}"
    """,
    "zsh": """
        compdef() { :; }
        _describe() { :; }
        compadd() { print -l -- "${(@)argv:#-*}" ${(P)argv[-1]} }
        words=(sparkops deploy --recipe openai-gpt-oss-120b-c) CURRENT=4
        . "$SCRIPT"
        _sparkops_completion sparkops
    """,
    "fish": """
        source $SCRIPT
        complete -C 'sparkops deploy --recipe openai-gpt-oss-120b-c'
    """,
}


@pytest.fixture
def on_path(tmp_path: Path) -> dict[str, str]:
    """An environment whose PATH has `sparkops`."""
    program = tmp_path / "bin" / "sparkops"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\nPYTHONPATH='{PLACE}' exec '{sys.executable}' -m sparkops \"$@\"\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return os.environ | {"PATH": f"{program.parent}:{os.environ['PATH']}", "SCRIPT": str(tmp_path / "script")}


@pytest.mark.parametrize("shell", ASKED)
def test_tab_completes_the_names_of_recipes(shell: str, on_path: dict[str, str]) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} here")
    script = subprocess.run(["sparkops", "completion", shell], env=on_path, check=True, capture_output=True).stdout
    Path(on_path["SCRIPT"]).write_bytes(script)
    told = subprocess.run([shell, "-c", ASKED[shell]], env=on_path, check=False, capture_output=True, text=True)
    assert {"openai-gpt-oss-120b-canonical", "openai-gpt-oss-120b-claude"} <= set(told.stdout.split()), told.stderr
    assert "qwen3-coder-next-fp8" not in told.stdout


INVENTORY = """
all:
  hosts: {left: {address: 10.0.0.1}, right: {address: 10.0.0.2}}
  children: {all-of-it: {hosts: {left: {}, right: {}}}}
"""


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("sparkops roll", "rollback"),
        ("sparkops -i mine.yml --limit left,ri", "left,right"),
        ("sparkops -i mine.yml stop --limit all-", "all-of-it"),
        ("sparkops -i mine.yml plan --topology 2", "2x-solo"),
        ("sparkops rules cluster-lm", "cluster-lm-head"),
        ("sparkops preflight --explain memory-fi", "memory-fits"),
        ("sparkops bench run --suite sw", "sweep"),
        ("sparkops playbook show dep", "deploy"),
        ("sparkops play rolling", "rolling-restart"),
        ("sparkops lab fault node1 worker-n", "worker-never-joins"),
        ("sparkops lab fault n", ""),
        ("sparkops -i mine.yml stop min", "mine-alone"),
        ("sparkops -i mine.yml key --deployment qw", "qwen"),
        ("sparkops -i other.yml stop min", ""),
        ("sparkops -i nowhere.yml --limit l", ""),
        ("sparkops nonsense more", ""),
    ],
)
def test_what_can_be_completed(
    typed: str, found: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sparkops: Callable[..., Any]
) -> None:
    (tmp_path / "mine.yml").write_text(INVENTORY)
    (tmp_path / "other.yml").write_text(INVENTORY)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("SPARKOPS_LAB_DIR", str(tmp_path / "no lab"))
    deployments.note("mine.yml", {"left": ["mine-alone"], "right": ["gone"]})
    deployments.note("mine.yml", {"right": ["qwen"]})
    monkeypatch.setenv("_SPARKOPS_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", typed)
    monkeypatch.setenv("COMP_CWORD", str(len(typed.split()) - 1))
    ran = sparkops()
    assert (ran.code, ran.err) == (0, "")
    assert [line.partition(",")[2] for line in ran.out.split()] == [found] * bool(found)
