"""How a command becomes one shell line."""

from __future__ import annotations

import ast
import subprocess
from collections import Counter
from importlib.resources import files

import pytest

from sparkops.core.plan import Command, Script, Secret
from sparkops.remote.frame import LONGEST, expand, frame, script_text, shell_line


@pytest.mark.parametrize("word", ["a b", "it's", "$HOME", "x;y", "", '{"a": "b c"}', "é\n", "-n", "`id`"])
def test_words_survive_the_shell(word):
    line = shell_line(("printf", "%s", word))
    assert subprocess.run(["sh", "-c", line], capture_output=True, check=True).stdout == word.encode()


def test_a_script_becomes_four_words_wherever_it_stands():
    text = script_text("key")
    assert expand(("docker", "run", Script("key"), "x")) == ("docker", "run", "sh", "-c", text, "key", "x")


def test_modules_that_travel_as_one_script_share_no_name():
    paths = [path for path in (files("sparkops") / "node").iterdir() if path.name.startswith("model")]
    modules = [ast.parse(path.read_text(encoding="utf-8")) for path in paths]
    names = Counter(name for module in modules for name in set(_defined(module)))
    assert [name for name, times in names.items() if times > 1] == []


def _defined(module):
    for node in module.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Assign):
            yield from (target.id for target in node.targets if isinstance(target, ast.Name))


def test_a_reading_command_names_no_run():
    words = _words(frame(Command(("true",), reads=True), "run1", {}))
    assert words == ["60", "0", "-", "true"]


def test_a_changing_command_names_its_run_and_the_size_of_its_stdin():
    framed = frame(Command(("cat",), stdin="é", timeout=1.5), "run1", {})
    assert _words(framed) == ["1.50", "2", "run1", "cat"]
    assert framed.stdin == "é".encode()


def test_sudo_is_outside_of_the_frame():
    line = frame(Command(("true",), become=True, reads=True), None, {}).line
    assert line.startswith("sudo -n -- sh -c ")


def test_a_password_and_a_secret_travel_on_stdin_only():
    command = Command(("cat",), stdin=Secret("key"), become=True)
    framed = frame(command, "run1", {"key": "sk-1"}, sudo_password="hunter2")
    assert framed.line.startswith("sudo -S -p '' -- sh -c ")
    assert "hunter2" not in framed.line
    assert "sk-1" not in framed.line
    assert framed.stdin == b"hunter2\nhunter2\nhunter2\n\nsk-1"
    assert _words(framed)[1] == "+4"


def test_a_line_that_no_shell_would_take_is_refused_before_it_is_sent():
    with pytest.raises(ValueError, match="does not fit"):
        shell_line(("echo", "x" * LONGEST))


def _words(framed):
    import shlex

    words = shlex.split(framed.line)
    return words[words.index("run", words.index("-c")) + 1 :]
