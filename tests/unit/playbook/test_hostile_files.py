"""Whatever bytes a playbook's file holds: it is read, or it is one line with the file and the line. Never more."""

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from sparkops.cli.main import main
from sparkops.core.playbook import reading
from sparkops.errors import UsageError
from sparkops.files import playbooks
from sparkops.files.yaml_positions import parse
from support import golden

LINES = st.sampled_from(
    [
        "- name: a", "- run: deploy", "  with: {topology: solo}", "  steps:", "    - command: ls", "      when: true",
        "      when: a.b.c.__class__ == 1", "      when: 9**9**9**9", "      when: [[[[", "      register: r",
        "- &a [*a]",
        "    - copy: {src: /dev/zero, dest: /x}", "      until: '{{ node.name }}'", "      when: r.code == 0",
        "\t- tab",
        "  vars: {a: &x [1, 2], b: *x}", "  hosts: '!all'", "---", "...", "? [a, b]", ": c",
        "!!python/object:os.system x",
        "  serial: -1", "<<: *a", "      message: '{{ r.stdout }}'", "  ? {a: b}", "      tags: {a: b}", "- []",
        "- 1", "%TAG",
    ]
)  # fmt: skip
TEXT = st.lists(LINES, max_size=12).map("\n".join)
BYTES = st.one_of(TEXT.map(str.encode), st.text(max_size=80).map(str.encode), st.binary(max_size=80))


def read(data):
    """The one line that is said, or None."""
    try:
        reading.read(parse(data, "play.yml"), lambda name: "text")
    except UsageError as error:
        return error.message
    return None


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(BYTES)
@example(b"- steps: " + b"[" * 5000)
@example(b"- " * 5000)
@example(b"\xff\xfe- a")
@example(b"- steps: [{command: a, when: " + b"(" * 900 + b"}]")
@example(
    b"a: &a [1,1,1,1,1,1,1,1]\n"
    + b"\n".join(b"%c: &%c [%s]" % (n + 1, n + 1, b",".join([b"*%c" % n] * 9)) for n in range(97, 110))
)
def test_any_file_is_a_playbook_or_one_line_with_its_place(data):
    told = read(data)
    assert told is None or (told.startswith("play.yml:") and told.split(":")[1].isdigit())
    assert "\n" not in (told or "")


BROKEN = (
    b"", b"\x00", b"- steps: " + b"{a: " * 200, b"\xff", b"- run: deploy\r\n  with: {topology: clustre}\r\n",
    b"- run: deploy\n  with: {topolgy: solo}",
)  # fmt: skip


@pytest.fixture
def lint(tmp_path, capsys):
    """Exit code and messages of `playbook lint` for a file with these bytes."""
    book = tmp_path / "a book.yml"

    def run(data, *words):
        book.write_bytes(data if isinstance(data, bytes) else data.encode())
        capsys.readouterr()
        code = main(["playbook", "lint", str(book), *words])
        said = capsys.readouterr()
        assert said.out == "" or code == 0
        return code, said.err.replace(str(book), "BOOK")

    return run


def test_what_is_wrong_is_said_with_what_to_write_instead(lint):
    def told(block):
        code, said = lint(block)
        assert code == 2, said
        return said

    golden.hold_blocks(Path(__file__).parent / "linted.txt", told)


def test_the_command_line_says_it_in_one_line_and_exits_with_2(lint):
    for data in BROKEN:
        code, said = lint(data)
        lines = [line for line in said.splitlines() if not line.startswith("next: ")]
        assert (code, len(lines), lines[0][:12]) == (2, 1, "error: BOOK:"), (data, said)


@pytest.mark.skipif(os.name == "nt", reason="Windows has none of these")
def test_a_file_to_copy_that_never_ends_is_said(lint):
    code, said = lint("- steps: [{copy: {src: /dev/zero, dest: /x}}]")
    assert (code, "BOOK:1: play 1, step 1: copy.src: " in said) == (2, True), said


def test_windows_line_ends_are_read_and_a_copied_file_keeps_its_own(tmp_path):
    (tmp_path / "note.txt").write_bytes(b"a\r\nb\r\n")
    (tmp_path / "book.yml").write_bytes(b"- steps:\r\n    - copy: {src: note.txt, dest: /x}\r\n      name: put\r\n")
    (play,) = playbooks.playbook(str(tmp_path / "book.yml")).plays
    assert play.steps[0].action.content == "a\r\nb\r\n"
    assert play.steps[0].name == "put"


def test_a_packaged_file_is_read_by_its_path_and_a_copy_is_told_whose_phases_it_has(lint):
    for name in ("stop", "start", "restart", "rollback", "key-rotate", "deploy"):
        place = playbooks.packaged(name)
        assert main(["playbook", "lint", str(place)]) == 0
        code, said = lint(place.read_bytes())
        own = name == "deploy"
        assert code == (0 if own else 2)
        assert own or f"belongs to `sparkops {name.replace('-', ' ')}`" in said


def test_a_variable_in_an_option_is_not_what_its_command_refuses(lint):
    block = "- run: deploy\n  with: {topology: '{{ t }}', stall: '{{ wait }}', port: '{{ p }}'}"
    assert lint(block)[0] == 0
    assert lint(block, "-e", "t=cluster", "-e", "wait=5m", "-e", "p=8001")[0] == 0
    assert "no such topology" in lint(block, "-e", "t=clutser", "-e", "wait=5m", "-e", "p=8001")[1]
    assert lint(block, "-e", "t=cluster")[0] == 0, "the others may be given later"
    for options in ("nonsense: 1", "nonsense: '{{ x }}'", "stall: '{{ x }}', port: abc", "port: abc, stall: '{{ x }}'"):
        code, said = lint(f"- name: deploy {{{{ t }}}}\n  run: deploy\n  with: {{topology: '{{{{ t }}}}', {options}}}")
        assert (code, "nonsense" in said or "abc" in said) == (2, True), (options, said)
    assert lint("- run: deploy\n  with: {stall: '{{ x }}'}")[0] == 2, "the topology is missing"
    assert lint("- run: '{{ x }}'")[0] == 2


def test_names_that_the_command_line_will_give_are_given_to_lint_too(lint):
    assert lint("- steps: [{command: 'echo {{ version }}'}]", "-e", "version=1")[0] == 0


def test_a_name_that_no_play_asks_for_is_a_slip(tmp_path, capsys):
    book = tmp_path / "book.yml"
    book.write_text("- vars: {wanted: 6}\n  steps: [{command: ls}]\n- run: deploy\n  with: {topology: '{{ shape }}'}\n")
    assert main(["play", str(book), "--list-steps", "-e", "wnated=7"]) == 2
    assert f"-e wnated: no play of {book} uses this variable (did you mean wanted?)" in capsys.readouterr().err
    assert main(["play", str(book), "--list-steps", "-e", "wanted=7", "-e", "shape=solo"]) == 0
