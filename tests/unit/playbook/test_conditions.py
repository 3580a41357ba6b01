"""The language of `when`: what it can say, what it refuses, and that nothing in it can run code or take long."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sparkops.core.playbook.expression import Const, holds
from sparkops.core.playbook.names import BadExpression, fill
from sparkops.core.playbook.when import LONGEST, parse

KNOWN = {
    "n": 3,
    "word": "spark",
    "on": True,
    "nothing": None,
    "list": [1, {"x": 5}],
    "facts": {"gpu": {"name": "GB10"}, "mem": 120},
    "obj": object(),
}


MEANS = {
    "n == 3": True,
    "n > 3 or word == 'spark'": True,
    "not on": False,
    "n in [1, 2, 3]": True,
    "'par' in word": True,
    "word not in ['a', 'b']": True,
    "1 < n < 3": False,
    "1 < n <= 3": True,
    "facts.gpu.name == 'GB10'": True,
    "facts['gpu']['name'] != 'GB10'": False,
    "list[1].x == 5": True,
    "facts.fan is defined and facts.fan > 3": False,
    "facts.fan is undefined or facts.fan > 3": True,
    "nothing is defined": False,
    "n > -1": True,
    "true and not false": True,
    "none == nothing": True,
    "n >= 3.0 and (on or nothing.x)": True,
}
OUTSIDE = {
    "f(1)": "a call",
    "word | upper": "a filter",
    "2 ** 999999999": "arithmetic",
    "n + 1 == 4": "arithmetic",
    "'a' ~ 'b'": "joining",
    "1 if n else 2": "if",
    "{'a': 1}": "a mapping",
    "n is even": "is defined",
    "[1, 2][0]": "only names have items",
    "facts[n]": "only names have items",
    "n }} word": "not one condition",
    "{{ n }} == 3": "needs no {{ }}",
    "word | int > 3": "counts as one",
    "word | default('a')": "in `vars:`",
    "word is failed": ".code == 0",
    "n ==": "cannot be read",
    "": "cannot be read",
    "n = 3": "cannot be read",
    "(" * 400 + "n" + ")" * 400: "nested too deeply",
    "n or " * 300 + "n": f"longer than {LONGEST}",
}
NO_ENTRY = (
    "obj.__class__", "facts.__class__.__mro__", "word.upper", "list.append", "facts.keys", "list[7]", "list[-1]"
)  # fmt: skip
NOT_ONE_NAME = ("{{ n + 1 }}", "{{ f() }}", "{{ word|upper }}", "{{ a.__b__() }}", "{{}}", "{{ list }}")


def told(work):
    """The refusal, empty when there was none; anything else that is raised is a bug."""
    try:
        work()
    except BadExpression as refused:
        return str(refused)
    return ""


def test_a_condition_means_what_it_says():
    assert {text: holds(parse(text), KNOWN) for text in MEANS} == MEANS


def test_what_is_outside_the_language_is_named_in_one_line():
    said = {text: told(lambda text=text: parse(text)) for text in OUTSIDE}
    assert {text: line for text, line in said.items() if OUTSIDE[text] not in line or "\n" in line} == {}


def test_items_are_entries_and_never_attributes_and_braces_hold_single_values():
    assert [text for text in NO_ENTRY if not told(lambda text=text: holds(parse(text), KNOWN))] == []
    assert [text for text in NOT_ONE_NAME if not told(lambda text=text: fill(text, KNOWN))] == []


def test_a_slip_in_a_name_is_answered_with_the_nearest():
    with pytest.raises(BadExpression, match=r"facts has no gpus \(did you mean gpu\?\)"):
        holds(parse("facts.gpus == 1"), KNOWN)


def test_what_cannot_be_compared_is_said():
    with pytest.raises(BadExpression, match="cannot be compared"):
        holds(parse("word < n"), KNOWN)


def test_what_is_known_is_settled_and_the_rest_is_left():
    left = parse("n == 3 and result.code == 0").settle(KNOWN)
    assert str(left) == "result.code == 0"
    assert parse("n == 4 and result.code == 0").settle(KNOWN) == Const(False)
    assert parse("result.code == 0 or on").settle(KNOWN) == Const(True)
    assert holds(left, {"result": {"code": 0}}) is True


def test_a_settled_condition_says_the_same_as_the_whole():
    text = "not (result.code in [0, n] or result.stdout == word) and result.ended is defined"
    for result in ({"code": 3, "stdout": "", "ended": "x"}, {"code": 1, "stdout": "no", "ended": "x"}):
        later = {"result": result}
        assert holds(parse(text).settle(KNOWN), later) is holds(parse(text), {**KNOWN, **later})


def test_names_are_put_into_texts_and_what_was_put_in_is_not_read_again():
    assert fill("a {{ word }} of {{facts.mem}} {{ on }}", KNOWN) == "a spark of 120 true"
    assert fill("{{ x }}", {"x": "{{ y }}"}) == "{{ y }}"


ALPHABET = [*"nword.[]()'\"<>=!{}%#|~*+-,: \n\\_0129", "and ", "not ", " in ", " is defined", "facts", "__class__"]


@given(st.lists(st.sampled_from(ALPHABET), max_size=60).map("".join))
@example("a.b.c.d[0]['x']")
@example("not " * 200 + "n")
@example("9" * 900)
@example("{% for x in y %}")
@example("{# #}n")
def test_any_text_is_a_condition_or_a_one_line_refusal(text):
    assert "\n" not in told(lambda: holds(parse(text), KNOWN))


@given(st.text(max_size=80))
def test_any_text_can_be_filled_or_is_refused_in_one_line(text):
    assert "\n" not in told(lambda: fill(text, KNOWN))
