"""Command lines without nodes: what each prints among the files of `work` (`! `: on stderr), and how it ends.

With nodes, and in the order of an evening, they are in tests/world/transcripts.
"""

import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path
from textwrap import indent
from typing import Any

import pytest

from sparkops.cli.main import parsed
from sparkops.cli.shape import CommandLine, Invocation
from support import golden
from support.values import told

HERE = Path(__file__).parent
Run = Callable[..., Any]


@pytest.fixture
def typed(sparkops: Run, own_home: Path) -> Callable[[str], str]:
    shutil.copytree(HERE / "work", own_home, dirs_exist_ok=True)

    def run(line: str) -> str:
        ran = sparkops(*shlex.split(line))
        assert not ran.out or "--json" not in line or ran.document["exit_code"] == ran.code
        said = re.sub(r'"seconds": [\d.]+', '"seconds": 0.0', ran.out + indent(ran.err, "! "))
        return said.replace(str(own_home), "~") + (f"\n[exit {ran.code}]" if ran.code else "")

    return run


def test_a_command_line_prints_what_its_file_says(typed: Callable[[str], str]) -> None:
    golden.hold_lines(HERE / "typed.txt", typed)


@pytest.mark.parametrize("schema", ["1", "2", "sparkops"])
def test_an_export_can_be_linted_and_is_equal_to_what_it_was_made_of(
    sparkops: Run, tmp_path: Path, schema: str
) -> None:
    recipe, cluster = "openai-gpt-oss-120b", ("--topology", "cluster")
    (tmp_path / "copy.yml").write_text(sparkops("recipe", "export", recipe, "--schema", schema, *cluster).out)
    assert sparkops("lint", "copy.yml", *cluster).code == 0
    found = sparkops("recipe", "diff", recipe, "copy.yml", *cluster, "cluster", "--json").document
    assert {one["part"] for one in found["differences"]} <= {"mounts"}


def test_words_become_the_options_that_their_file_says() -> None:
    def became(words: str) -> str:
        line = CommandLine()
        ask = parsed(shlex.split(words), line)
        assert isinstance(ask, Invocation)
        return f"{type(ask.options).__name__} {told(ask.options)}\nflags {told(line.flags)}"

    golden.hold_lines(HERE / "parsed.txt", became)
