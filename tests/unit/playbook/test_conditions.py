"""The language of `when`: what it can say, what it refuses, and that nothing in it can run code or take long."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from sparkops.core.playbook.expression import Const, holds
from sparkops.core.playbook.names import BadExpression, fill
from sparkops.core.playbook.when import LONGEST, parse
from support import golden

HERE = Path(__file__).parent
KNOWN: dict[str, Any] = {
    "n": 3,
    "word": "spark",
    "on": True,
    "nothing": None,
    "list": [1, {"x": 5}],
    "facts": {"gpu": {"name": "GB10"}, "mem": 120},
    "obj": object(),
    "node": {"name": "spark1"},
    "braces": "{{ n }}",
}
RESULTS = ({"code": 0, "stdout": "", "ended": "done"}, {"code": 3, "stdout": "x", "ended": "failed"})


def said(work: Callable[[], object]) -> str:
    """What it gives or its refusal, in one line; anything else that is raised is a bug."""
    try:
        told = str(work())
    except BadExpression as refused:
        told = f"refused: {refused}"
        assert "\n" not in told
    return re.sub("(cannot be read): .*", r"\1", told)  # behind it stand words of the parser's version


def answer(text: str) -> str:
    """Whether a condition holds; with what is left for the run, whether that agrees with the whole condition."""

    def answered() -> str:
        asked = parse(text)
        left = asked.settle(KNOWN)
        if isinstance(left, Const):
            return f"{holds(asked, KNOWN)}: {asked}"
        later = [holds(left, {"result": result}) for result in RESULTS]
        assert later == [holds(asked, {**KNOWN, "result": result}) for result in RESULTS]
        return f"{later}: {asked}\nleft: {left}"

    return said(answered)


def test_a_condition_means_what_its_file_says() -> None:
    golden.hold_lines(HERE / "conditions.txt", answer)


def test_names_in_a_text_become_what_their_file_says() -> None:
    golden.hold_lines(HERE / "names.txt", lambda text: said(lambda: fill(text, KNOWN)))


def test_a_condition_that_is_too_deep_or_too_long_is_refused() -> None:
    assert "nested too deeply" in answer("(" * 400 + "n" + ")" * 400)
    assert f"longer than {LONGEST}" in answer("n or " * 300 + "n")


ALPHABET = [
    *"nword.[]()'\"<>=!{}%#|~*+-,: \n\\_0129",
    "and ",
    "not ",
    " in ",
    " is defined",
    "facts",
    "__class__",
    *"１٣²",
]


@given(st.lists(st.sampled_from(ALPHABET), max_size=60).map("".join))
@example("a.b.c.d[0]['x']")
@example("not " * 200 + "n")
@example("9" * 900)
@example("a" * 2000)
@example("{% for x in y %}")
@example("{# #}n")
@example("１.0 == 1")
@example("1.٣")
def test_any_text_is_a_condition_or_a_one_line_refusal(text: str) -> None:
    said(lambda: holds(parse(text), KNOWN))


@given(st.text(max_size=80))
def test_any_characters_are_a_condition_or_a_one_line_refusal(text: str) -> None:
    said(lambda: holds(parse(text), KNOWN))


@given(st.text(max_size=80))
def test_any_text_can_be_filled_or_is_refused_in_one_line(text: str) -> None:
    said(lambda: fill(text, KNOWN))
