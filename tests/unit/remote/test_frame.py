"""How a command becomes one shell line."""

import ast
import shlex
import subprocess
from collections import Counter
from importlib.resources import files

import pytest

from sparkops.core.plan import Command, Script, Secret
from sparkops.remote.channel import KeptOutput
from sparkops.remote.frame import LONGEST, expand, frame, script_text, shell_line

AWKWARD = ("a b", "it's", "$HOME", "x;y", "", '{"a": "b c"}', "é\n", "-n", "`id`")


def test_words_survive_the_shell():
    said = subprocess.run(["sh", "-c", shell_line(("printf", "<%s>", *AWKWARD))], capture_output=True, check=True)
    assert said.stdout.decode() == "".join(f"<{word}>" for word in AWKWARD)


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


def test_a_changing_command_names_its_run_and_any_the_size_of_its_stdin():
    assert _words(frame(Command(("true",), reads=True), "run1", {})) == ["60", "0", "-", "true"]
    framed = frame(Command(("cat",), stdin="é", timeout=1.5), "run1", {})
    assert (_words(framed), framed.stdin) == (["1.50", "2", "run1", "cat"], "é".encode())


def test_a_password_and_a_secret_travel_on_stdin_only_and_sudo_is_outside_of_the_frame():
    assert frame(Command(("true",), become=True, reads=True), None, {}).line.startswith("sudo -n -- sh -c ")
    command = Command(("cat",), stdin=Secret("key"), become=True)
    framed = frame(command, "run1", {"key": "sk-1"}, sudo_password="hunter2")
    assert framed.line.startswith("sudo -S -p '' -- sh -c ")
    assert [secret in framed.line for secret in ("hunter2", "sk-1")] == [False, False]
    assert framed.stdin == b"hunter2\nhunter2\nhunter2\n\nsk-1"
    assert _words(framed)[1] == "+4"


def test_a_line_that_no_shell_would_take_is_refused_before_it_is_sent():
    with pytest.raises(ValueError, match="does not fit"):
        shell_line(("echo", "x" * LONGEST))


def test_a_flood_is_cut_in_the_middle_and_what_cannot_be_decoded_is_shown_as_far_as_it_goes():
    kept = KeptOutput(cap=20)
    for data in (b"first\n", *[b"0123456789"] * 50, b"a\xffb last\n"):
        kept.add(data)
    text = kept.text()
    assert text.startswith("first\n0123\n[")
    assert text.endswith("a\ufffdb last\n")
    (count,) = (int(line[1:].split()[0]) for line in text.splitlines() if line.endswith("bytes left out]"))
    assert kept.dropped == count == 6 + 500 + 9 - len(kept.head) - kept.tail_size


def _words(framed):
    words = shlex.split(framed.line)
    return words[words.index("run", words.index("-c")) + 1 :]
