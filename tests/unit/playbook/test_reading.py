"""A playbook's file: every key as a value, and every mistake as one line with file, line, play and step."""

import copy
from functools import partial
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sparkops.core.playbook import reading
from sparkops.core.playbook.chosen import chosen
from sparkops.core.playbook.steps import KEYS
from sparkops.core.playbook.uses import names, uses_facts, uses_phases
from sparkops.core.playbook.values import StepsPlay
from sparkops.core.schema import Located
from sparkops.errors import UsageError
from support import golden
from support.values import fields_said, told

SAID = Path(__file__).parent / "reading.txt"


def outcome(read, block):
    """All that a playbook is read as; behind `$ TAGS` or `$ TAGS but SKIPPED` the steps that the tags leave."""
    lines = block.splitlines()
    book = read("\n".join(line for line in lines if not line.startswith("$ ")), {"note.txt": "hello"}, ("word",))
    shown = []
    for play in book.plays:
        shown += [one_line(play), *(f"    {one_line(step)}" for step in getattr(play, "steps", ()))]
        if isinstance(play, StepsPlay):
            shown.append(f"uses facts {uses_facts(play)}, phases {uses_phases(play)}")
    shown.append(f"names {sorted(set(names(book)))}")
    return "\n".join([*shown, *(left(book, line) for line in lines if line.startswith("$ "))])


def one_line(value):
    known = {name: item for name, item in fields_said(value).items() if name != "steps"}
    return "; ".join(f"{name} {item if name == 'when' else told(item)}" for name, item in known.items())


def left(book, line):
    tags, _, skip = line.removeprefix("$ ").partition(" but ")
    try:
        plays = chosen(book, frozenset(tags.split()), frozenset(skip.split())).plays
    except UsageError as refused:
        return f"{line}\n    refused: {refused.message}"
    kept = [[step.name for step in play.steps] if isinstance(play, StepsPlay) else play.verb for play in plays]
    return f"{line}\n    {kept}"


def test_a_playbook_is_read_as_its_file_says(read):
    golden.hold_blocks(SAID, partial(golden.refusal, partial(outcome, read)))


def test_every_key_of_a_step_is_tried_there():
    text = SAID.read_text(encoding="utf-8").partition("\n# A mistake")[0]
    assert [key for key in KEYS if f"| {' ' * 6}{key}:" not in text and f"- {key}:" not in text] == []


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
    said = golden.refusal(lambda: str(set(names(reading.read(located(tree), lambda name: "text")))))
    assert said.startswith(("{", "set()", "refused: play.yml:"))
    assert tree == before
