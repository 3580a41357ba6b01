"""What recipes, inventories, playbooks, records, nodes and models say never controls the terminal."""

import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from sparkops.cli import registry
from sparkops.cli.main import main
from sparkops.core.bench.record import Record
from sparkops.core.bench.suites import Suite
from sparkops.core.plan import Event
from sparkops.core.printable import UNSAFE, printable
from sparkops.errors import Refused
from sparkops.files import bench_records
from sparkops.report.answer import Answer
from sparkops.report.report import Report
from sparkops.report.text import How, Ink

HERE = Path(__file__).parent
HOSTILE = (
    "\x1b[2J\x1b]0;owned\x07 \x9b31m \rgood\x08\x7f \u202egnp \u2066\u200b\u00ad\ufeff \U000e0041 \x1b[31mred\x1b[0m"
)
LOOKED_UP = ("state", "action", "fit", "kind", "effect", "severity", "level", "basis", "trust", "change", "type")
"""Keys whose values are words of sparkops itself."""


def hostile(value: Any, key: str = "") -> Any:
    """The document with hostile text at the end of each text that is not a word of our own."""
    if isinstance(value, str):
        return value if key in LOOKED_UP else value + HOSTILE
    if isinstance(value, dict):
        return {name: hostile(item, name) for name, item in value.items()}
    return [hostile(item, key) for item in value] if isinstance(value, list) else value


def documents() -> list[tuple[str, dict[str, Any]]]:
    """(verb, document) of every answer in answers.txt."""
    blocks = [""]
    for line in (HERE / "answers.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("|"):
            blocks[-1] += f"{line[2:]}\n"
        elif blocks[-1]:
            blocks.append("")
    found = []
    for verb, _, text in (block.partition("\n") for block in blocks if block):
        given = yaml.safe_load(text)
        like = given.pop("like", None)
        start = yaml.safe_load((HERE / "documents" / f"{like}.yml").read_text()) if like else {}
        found.append((verb, {**start, **given}))
    return found


def report(**settings: Any) -> tuple[Report, io.StringIO, io.StringIO]:
    out, err = io.StringIO(), io.StringIO()
    return Report("status", out=out, err=err, show=registry.show, **settings), out, err


def test_what_shows_an_answer_gets_only_printable_text() -> None:
    """So it holds for every verb: its `show` sees nothing else."""
    seen: list[Any] = []

    def show(verb: str) -> Any:
        def keep(document: Any, ink: Ink, how: How) -> list[str]:
            seen.append(document)
            return []

        return keep

    desk = Report("status", out=io.StringIO(), err=io.StringIO(), show=show)
    document = {"nodes": ({HOSTILE: [HOSTILE, 1, None]},), HOSTILE: HOSTILE}
    desk.show_answer("status", Answer(document))
    desk.show(document)
    desk.finish(Answer(document))
    assert len(seen) == 3
    assert not any(UNSAFE.search(character) for one in seen for character in str(one))
    assert all("owned" in str(one) for one in seen)


def test_no_answer_controls_the_terminal() -> None:
    for verb, document in documents():
        for verbose in (False, True):
            desk, out, _ = report(how=How(verbose))
            desk.verb = verb
            desk.finish(Answer(hostile(document)))
            assert "owned" in out.getvalue()
            assert not UNSAFE.search(out.getvalue()), verb


def test_colours_are_our_own() -> None:
    desk, out, err = report(ink=(Ink(True), Ink(True)))
    desk.verb = "jobs"
    desk.show({"warnings": [HOSTILE]})
    desk.line("spark1" + HOSTILE, "a" + HOSTILE)
    desk.emit(Event("failed", HOSTILE, "spark1" + HOSTILE, "step" + HOSTILE, "title" + HOSTILE, {"log": HOSTILE}))
    desk.emit(Event("warning", HOSTILE))
    desk.fail(Refused(HOSTILE, node=HOSTILE, step=HOSTILE, hint=HOSTILE))
    for text in (out.getvalue(), err.getvalue()):
        assert "owned" in text
        assert not UNSAFE.search(re.sub(r"\x1b\[(0|1|2|31|33)m", "", text))
    assert "\x1b[31mred" not in out.getvalue() + err.getvalue()


def test_json_has_the_original_text_in_printable_characters() -> None:
    desk, out, _ = report(as_json=True)
    desk.finish(Answer({"text": HOSTILE}, error=Refused(HOSTILE)))
    text = out.getvalue()
    assert text.isascii()
    assert not UNSAFE.search(text)
    assert json.loads(text)["text"] == json.loads(text)["error"]["message"] == HOSTILE


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain é 漢字 👍🏽\tand a tab\n", "plain é 漢字 👍🏽\tand a tab\n"),
        ("a line of Windows\r\nand one\r", "a line of Windows\nand one"),
        ("\x1b[1;32mRay's colour\x1b[0m", "Ray's colour"),
        ("\x1b[2J", "\\x1b[2J"),
        ("50%\r100%\x9b", "50%\\r100%\\x9b"),
        ("\u202eexe.txt\udc9b", "\\u202eexe.txt\\udc9b"),
        ("\x1b[31\x1b[31mm", "\\x1b[31m"),
    ],
)
def test_unsafe_characters_are_shown_as_escapes(text: str, shown: str) -> None:
    assert printable(text) == shown


YAML = '"' + "".join(f"\\U{ord(character):08x}" for character in HOSTILE) + '"'
RECIPE = f"""model: org/m
container: image
metadata: {{description: {YAML}, source: [{YAML}], notes: [{YAML}], when: [{YAML}]}}
args: {{served-model-name: {YAML}, {YAML}: 1}}
env: {{NOTE: {YAML}}}
"""


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A recipe, an inventory, a playbook and a record with hostile text wherever text can stand."""
    Path("recipes").mkdir()
    Path("recipes/bad.yml").write_text(RECIPE.replace(f", {YAML}: 1", ""))
    Path("recipes/other.yml").write_text("model: org/m\ncontainer: image\n")
    Path("recipes/key.yml").write_text(RECIPE)
    Path("recipes/name\x1b[2J\x9b.yml").write_text("model: org/m\ncontainer: image\n")
    Path("inv.yml").write_text(f"all: {{hosts: {{a: {{address: 10.0.0.1, {YAML}: 1}}}}}}\n")
    play = f"- name: {YAML}\n  steps:\n    - {{name: {YAML}, command: {YAML}, when: {YAML}}}\n"
    Path("play.yml").write_text(play)
    Path("steps.yml").write_text(play.replace(f", when: {YAML}", ""))
    suite = Suite("s" + HOSTILE, HOSTILE, HOSTILE, (1,), (1,))
    record = Record("one", HOSTILE, suite, HOSTILE, HOSTILE, HOSTILE, {HOSTILE: HOSTILE}, (), None, (HOSTILE,))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    bench_records.keep(record)
    return tmp_path


COMMANDS = (
    *("recipe show bad", "recipe show recipes/key.yml", "recipe diff bad other", "recipe export bad --schema 2"),
    *("recipe export bad --schema sparkops --topology solo", "recipe export bad --schema 1", "recipe list"),
    *("recipe show bad -v", "recipe show bad --topology solo", "recipe search m"),
    *("lint recipes/bad.yml", "lint recipes/key.yml", "lint --format github recipes/bad.yml", "recipe list -v"),
    *("-i inv.yml play steps.yml --list-steps", "-i inv.yml play play.yml --list-steps", "playbook lint steps.yml"),
    *("playbook lint play.yml", "bench show one", "bench list", "bench export one", "bench export one --format json"),
    *(
        "bench compare one one",
        "bench compare one --reference",
        "advise --recipe bad",
        "advise --for decode --recipe recipes/bad.yml",
    ),
)


@pytest.mark.parametrize("line", COMMANDS)
def test_hostile_files_do_not_control_the_terminal(files: Path, capsys: pytest.CaptureFixture[str], line: str) -> None:
    for words in (line.split(), [*line.split(), "--json"]):
        assert main(words) in (0, 2, 3)
        told = capsys.readouterr()
        assert told.out + told.err
        assert not UNSAFE.search(told.out + told.err)


def test_a_hostile_name_of_an_inventory_is_shown_as_escapes_also_in_advice(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("inv.yml").rename("inv\x1b[2J\u202e.yml")
    for words in (["-i", "inv\x1b[2J\u202e.yml", "plan"], ["-i", "none\x1b[2J", "status"]):
        assert main(words) == 2
        told = capsys.readouterr().err
        assert "[2J" in told
        assert not UNSAFE.search(told)


def test_an_exported_recipe_has_the_hostile_text_as_escapes_and_the_value_is_unchanged(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["recipe", "export", "bad", "--schema", "sparkops"]) == 0
    text = capsys.readouterr().out
    assert not UNSAFE.search(text)
    assert yaml.safe_load(text)["env"]["NOTE"] == HOSTILE
