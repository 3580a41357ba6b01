"""Plays of the right shape with wrong values: they are read, or refused in one line with the file. Never more."""

import yaml
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from sparkops.cli.main import main
from sparkops.core.playbook import shape

WORD = st.sampled_from(
    [
        "{{ node.name }}", "{{ a }}", "{{ a b }}", "{{ a | d }}", "{{{{ a }}}}", "r.code == 0", "r.stdout in facts.x",
        "a is defined", "'", '"', "ls | x", "x == 1", "r.rc == 1", "[[[[", "all", "!a", "*", "0600", "0888", "", "\0",
        "\u2028", "é", "a\nb", "9" * 400, "{% raw %}", "{# c #}", "settle", "undo", "drop", "2x-solo", "99999999x-solo",
        "deploy", "cache drop", "stop", "play", "bench run", "image", "--help", "-x", "key rotate", "@last-failed",
    ]
)  # fmt: skip
SCALAR = st.one_of(WORD, st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=6), st.dates())
NAME = st.sampled_from(
    ["topology", "args", "flags", "set", "recipe", "limit", "src", "dest", "content", "mode", "json", "help", "a"]
)
VALUE = st.recursive(
    SCALAR, lambda one: st.one_of(st.lists(one, max_size=3), st.dictionaries(NAME, one, max_size=3)), max_leaves=6
)
ACTION = st.sampled_from(
    [{"command": "ls"}, {"copy": {"content": "x", "dest": "~/a"}}, {"message": "m"}, {"phase": "settle"}, {}]
)


def with_keys(keys, most):
    return st.dictionaries(st.sampled_from(sorted(keys)), VALUE, max_size=most)


STEP = st.builds(lambda keys, action: keys | action, with_keys(shape.keys(shape.StepShape), 4), ACTION)
STEPS = st.builds(
    lambda keys, steps: keys | {"steps": steps},
    with_keys(shape.keys(shape.StepsPlayShape), 2),
    st.lists(STEP, min_size=1, max_size=3),
)
VERB = st.builds(
    lambda keys, run, given: keys | {"run": run, "with": given},
    with_keys(("name", "tags", "vars"), 1),
    WORD,
    st.dictionaries(NAME, VALUE, max_size=3),
)
LINES = (["playbook", "lint"], ["play", "--list-steps", "-e", "a=1"])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.lists(st.one_of(STEPS, VERB), min_size=1, max_size=3), st.sampled_from(LINES))
@example([{"steps": [{"command": "ls", "when": []}]}], LINES[0])
def test_any_plays_are_read_or_refused_in_one_line_with_their_file(tmp_path_factory, capsys, book, line):
    place = tmp_path_factory.getbasetemp() / "a book.yml"
    place.write_text(yaml.safe_dump(book, allow_unicode=True), encoding="utf-8")
    code = main([*line, str(place)])
    said = [one for one in capsys.readouterr().err.split("\n") if one and not one.startswith(("next: ", "log: "))]
    if code == 0:
        return
    assert code == 2
    (told,) = said
    assert told.startswith("error: ")
    assert str(place) in told
