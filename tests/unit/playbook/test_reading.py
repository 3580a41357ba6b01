"""A playbook's file: every key as a value, and every mistake as one line with file, line, play and step."""

from __future__ import annotations

import copy

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sparkops.core.playbook import reading
from sparkops.core.playbook.chosen import chosen
from sparkops.core.playbook.steps import KEYS
from sparkops.core.playbook.uses import names, uses_facts, uses_phases
from sparkops.core.playbook.values import CopyFile, RunCommand, RunPhase, Say, StepsPlay, VerbPlay
from sparkops.core.schema import Located
from sparkops.errors import UsageError

WHOLE = """
    - name: Whole
      hosts: [sparks, "!spark3"]
      serial: 2
      vars: {version: 1.2, words: a b}
      on_failure: stop
      steps:
        - name: look
          command: cat "/etc/my file" {{ words }}
          reads: true
          register: seen
          tags: look, always
        - name: act
          command: [sh, -c, "echo {{ version }}"]
          unless: test -e /tmp/x
          until: [test, -e, /tmp/y]
          retries: 3
          delay: 2
          undo: rm /tmp/y
          when: [seen.code == 0, facts.uname is defined]
          become: true
          environment: {A: "{{ node.name }}"}
          timeout: 9
          ignore_errors: true
          run_once: true
          message: "was {{ seen.stdout }}"
        - copy: {src: note.txt, dest: ~/note, mode: "600"}
        - phase: settle
        - message: done
    - name: Then
      run: cache drop
      with: {limit: spark1}
      tags: [drop]
"""


def test_every_key_becomes_a_value(read):
    book = read(WHOLE, {"note.txt": "hello"})
    steps, verb = book.plays
    assert isinstance(steps, StepsPlay)
    assert isinstance(verb, VerbPlay)
    assert (steps.hosts, steps.serial, steps.on_failure) == ("sparks,!spark3", 2, "stop")
    look, act, note, settle, done = steps.steps
    assert look.action == RunCommand(("cat", "/etc/my file", "{{words}}"), reads=True)
    assert look.tags == ("look", "always")
    assert act.action == RunCommand(("sh", "-c", "echo {{ version }}"))
    assert (act.unless, act.until, act.undo) == (("test", "-e", "/tmp/x"), ("test", "-e", "/tmp/y"), ("rm", "/tmp/y"))
    assert (act.retries, act.delay, act.timeout, act.become, act.run_once) == (3, 2.0, 9.0, True, True)
    assert str(act.when) == "(seen.code == 0) and (facts.uname is defined)"
    assert note.action == CopyFile("~/note", "hello", "0600", "note.txt")
    assert settle.action == RunPhase("settle")
    assert settle.name == "settle"
    assert done.action == Say()
    assert done.message == "done"
    assert (verb.verb, verb.options, verb.tags) == ("cache drop", {"limit": "spark1"}, ("drop",))
    assert uses_facts(steps)
    assert uses_phases(steps)


def test_every_key_of_a_step_is_tried_here():
    assert [key for key in KEYS if f"{key}:" not in WHOLE] == []


def step(text):
    return f"- name: P\n  steps:\n    - name: S\n      {text}\n"


MISTAKES = [
    ("hello", "play.yml:1: must be a list, not text"),
    ("[]", "play.yml:1: has no plays"),
    ("- name: x\n", "play.yml:1: play 1 (x): needs either run (a verb) or steps"),
    ("- run: stop\n  steps: []\n", "needs either run (a verb) or steps"),
    ("- name: x\n  hoosts: all\n  steps: []\n", "play.yml:2: play 1.hoosts: unknown key (did you mean hosts?)"),
    ("- tasks: []\n", "play.yml:1: play 1: tasks: is not in this language"),
    ("- steps: []\n", "play.yml:1: play 1: steps: is empty"),
    ("- serial: 0\n  steps: [{message: x}]\n", "play 1: serial: must be between 1"),
    ("- on_failure: later\n  steps: [{message: x}]\n", "must be drop or stop or undo or go-on, not 'later'"),
    ("- vars: {facts: 1}\n  steps: [{message: x}]\n", "'facts' cannot be a name here"),
    ("- vars: {a-b: 1}\n  steps: [{message: x}]\n", "'a-b' cannot be a name here"),
    (step("when: 'true'"), "play 1 (P), step 1 (S): needs one of command, copy, phase, message"),
    (step("command: a\n      copy: {}"), "needs one of command, copy, phase, message, not command and copy"),
    (step("shell: a | b"), "step 1: shell: is not in this language"),
    (step("command: echo 'a"), "play.yml:4: play 1 (P), step 1 (S): command: has a quote that is not closed"),
    (step("command: ''"), "has no command"),
    (step("command: ls | wc -l"), "no shell reads '|'"),
    (step("command: a\n      register: r\n      until: r.code == 0"), "until: is a command here, not a condition"),
    (step("command: echo {{ inventory_hostname }}"), "there is no inventory_hostname"),
    (step("command: echo {{ node.adress }}"), "node has no adress (did you mean address?)"),
    (step("ansible.builtin.command: ls"), "ansible.builtin.command: is `command` here"),
    ("- become: true\n  steps: [{command: a}]\n", "play.yml:1: play 1: become: belongs to a step"),
    (step("command: {a: b}"), "must be text, not a mapping"),
    (step("command: a\n      when: x.__class__ == 1"), "there is no x"),
    (step("command: a\n      when: node.name.upper()"), "'node.name.upper()' a call cannot be used in a condition"),
    (step("command: a\n      when: noode.name == 1"), "there is no noode (did you mean node?)"),
    (step("command: echo {{ nodes }}"), "there is no nodes (did you mean node?)"),
    (step("command: echo {{ node.name | upper }}"), "is not a name; only names can be put in"),
    (step("command: a\n      retries: 3"), "play 1 (P), step 1 (S): retries: means nothing here without until"),
    (step("phase: settle\n      become: true"), "become: means nothing here"),
    (step("command: a\n      become: yes please"), "must be true or false, not text"),
    (step("command: a\n      timeout: -1"), "must be between 0 and 86400"),
    (step("command: a\n      register: node"), "'node' cannot be a name here"),
    (step("copy: {dest: /x}"), "needs either src (a file beside the playbook) or content"),
    (step("copy: {src: gone.txt, dest: /x}"), "gone.txt: no such file or directory"),
    (step("copy: {content: x}"), "copy.dest: is required"),
    (step("copy: {content: x, dest: /x, mode: rw}"), "must be octal such as '0644', not 'rw'"),
]


def test_a_mistake_is_one_line_that_says_where_and_what(read):
    said = {text: _told(lambda text=text: read(text)) for text, _ in MISTAKES}
    missing = {text: said[text] for text, told in MISTAKES if told not in (said[text] or "")}
    assert missing == {}
    assert [line for line in said.values() if not line.startswith("play.yml:") or "\n" in line] == []


def test_what_is_registered_is_for_conditions_and_messages_alone(read):
    text = "- steps:\n    - {command: a, register: r}\n    - {command: 'echo {{ r.stdout }}'}\n"
    with pytest.raises(UsageError, match=r"play.yml:3: play 1, step 2: command: r.stdout is known only in the run"):
        read(text)
    with pytest.raises(UsageError, match=r"r.rc: a registered step has code, stdout, stderr, ended"):
        read("- steps:\n    - {command: a, register: r}\n    - {command: b, when: r.rc == 0}\n")
    with pytest.raises(UsageError, match="there is no r"):
        read("- steps:\n    - {command: b, when: r.code == 0}\n    - {command: a, register: r}\n")


def test_names_of_the_command_line_are_names(read):
    assert read("- steps: [{command: 'echo {{ word }}'}]", extra=("word",)).plays


def test_tags_leave_what_is_meant(read):
    book = read(WHOLE, {"note.txt": ""})

    def left(tags=(), skip=()):
        return [
            [step.name for step in play.steps] if isinstance(play, StepsPlay) else play.verb
            for play in chosen(book, frozenset(tags), frozenset(skip)).plays
        ]

    assert left(["drop"]) == [["look"], "cache drop"]
    assert left(skip=["drop"]) == [["look", "act", "copy ~/note", "settle", "done"]]
    with pytest.raises(UsageError, match=r"step 'act' needs seen, and the tags leave out the step that makes it"):
        left(skip=["drop", "always"])
    with pytest.raises(UsageError, match=r"play.yml: the tags leave nothing to do \(did you mean drop\?\)"):
        left(["drops"], skip=["always"])
    assert left() == [["look", "act", "copy ~/note", "settle", "done"], "cache drop"]


KEY = st.sampled_from(
    [*KEYS, "steps", "run", "with", "hosts", "serial", "vars", "on_failure", "tasks", "dest", "content"]
)
SCALAR = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=12),
    st.sampled_from(["{{ node.name }}", "node.name == 'x'", "true", "r.code", "{{", "'", "all", "a b"]),
)  # fmt: skip
TREE = st.recursive(
    SCALAR, lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(KEY, inner, max_size=5)), max_leaves=25
)


def located(value, line=1):
    if isinstance(value, dict):
        return Located({key: located(item, line + 1) for key, item in value.items()}, "play.yml", line)
    if isinstance(value, list):
        return Located(tuple(located(item, line + 1) for item in value), "play.yml", line)
    return Located(value, "play.yml", line, None if value is None else str(value))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.one_of(TREE, st.lists(st.dictionaries(KEY, TREE, max_size=5), max_size=3)))
def test_any_tree_is_a_playbook_or_a_located_error(tree):
    before = copy.deepcopy(tree)
    told = _told(lambda: set(names(reading.read(located(tree), lambda name: "text"))))
    assert told is None or told.startswith("play.yml:")
    assert "\n" not in (told or "")
    assert tree == before


def _told(read):
    try:
        read()
    except UsageError as error:
        return error.message
    return None
