"""How answers read for a person."""

import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as some

from sparkops.cli import registry
from sparkops.report.answer import Answer
from sparkops.report.report import Report
from sparkops.report.text import How, Ink, clip, clock, columns, continued
from support import golden

HERE = Path(__file__).parent
PLAIN = Ink()


def document_of(text: str) -> dict[str, Any]:
    given = yaml.safe_load(text)
    like = given.pop("like", None)
    return {**(yaml.safe_load((HERE / "documents" / f"{like}.yml").read_text()) if like else {}), **given}


def told(verb: str, document: dict[str, Any], verbose: bool = False) -> list[str]:
    return list(registry.show(verb)(document, PLAIN, How(verbose, "sparkops -i lab")))


def test_an_answer_without_keys_prints_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert Report("deploy", show=registry.show).finish(Answer({})) == 0
    assert capsys.readouterr().out == ""


def test_a_verbose_plan_shows_the_revision_and_the_text_of_each_script_it_names_and_of_what_they_carry() -> None:
    lines = told("plan", document_of("like: plan"), verbose=True)
    assert [line for line in lines if re.fullmatch(r"@\w+", line)] == [
        "@entry",
        "@file",
        "@graphs",
        "@job",
        "@own",
        "@ranks",
        "@record",
        "@turns",
    ]
    assert "sparkops.revision={" in "\n".join(lines)
    assert any("#!/bin/sh" in line or "set -" in line for line in lines)


def test_the_request_to_paste_is_what_a_shell_makes_of_it() -> None:
    endpoint = {"url": "http://10.0.0.1:8000/v1", "model": "m", "node": "a", "deployment": "gpt"}
    lines = told("deploy", {"changed": True, "deployment": "gpt", "endpoints": [endpoint], "seconds": 92.4})
    request = " ".join(line.strip().removesuffix("\\") for line in lines[-2:])
    words = shlex.split(request.replace("$(sparkops -i lab key --deployment gpt)", "KEY"))
    assert words[:2] == ["curl", "http://10.0.0.1:8000/v1/chat/completions"]
    assert "Authorization: Bearer KEY" in words


def test_variables_of_an_endpoint_can_be_evaluated_by_a_shell() -> None:
    value = "it's $HOME `x`"
    script = "\n".join(told("endpoint", {"variables": {"OPENAI_API_KEY": value}}))
    done = subprocess.run(
        ["sh", "-c", f'{script}\nprintf %s "$OPENAI_API_KEY"'], capture_output=True, text=True, check=True
    )
    assert done.stdout == value


def test_raw_facts_come_out_as_they_came_in() -> None:
    raw = "sparkops-facts 1\n== uptime 0 3 4\nabc\n\n"
    assert "\n".join(told("facts", {"raw": raw})) + "\n" == raw


def test_an_answer_reads_as_its_file_says() -> None:
    """A verb, and below it the document, perhaps `like` one of `documents`."""

    def read(block: str) -> str:
        verb, _, text = block.partition("\n")
        return "\n".join(told(verb, document_of(text)))

    golden.hold_blocks(HERE / "answers.txt", read)


def test_no_answer_has_colour_unless_asked_for() -> None:
    assert "\x1b" not in "\n".join(told("plan", document_of("like: plan")))
    assert "\x1b" in "\n".join(registry.show("plan")(document_of("like: plan"), Ink(True), How()))


def test_columns_line_up_whatever_colour_their_cells_have() -> None:
    ink = Ink(True)
    lines = [re.sub(r"\x1b\[\d*m", "", line) for line in columns([[ink.bold("a"), 1], ["long", None]])]
    assert lines == ["a     1", "long  -"]


@given(some.lists(some.text(some.characters(blacklist_categories=("Cs", "Cc", "Zl", "Zp")), max_size=40), min_size=1))
def test_a_command_over_several_lines_means_the_same_to_a_shell(words: list[str]) -> None:
    command = shlex.join(words)
    over_lines = "\n".join(continued(command, "    ", 40))
    assert shlex.split(over_lines.replace("\\\n", "")) == words


def test_times_and_long_lines_are_short() -> None:
    assert [clock(seconds) for seconds in (0, 65, 3725)] == ["0:00", "1:05", "1:02:05"]
    assert clip("a b\n  c", 20) == "a b c"
    assert clip("x" * 30, 10) == "x" * 7 + "..."
