"""What a YAML file can do wrong is one line with its place, or the file is read right."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sparkops import located
from sparkops.core.schema import Opaque, plain
from sparkops.errors import UsageError
from sparkops.located import parse

WRONG = {
    "a tab": (b"a:\n\tb: 1\n", "f.yml:2: a tab"),
    "a tab behind spaces": (b"a:\n  b: 1\n \tc: 1\n", "f.yml:3: a tab"),
    "a key given twice": (b"a: 1\nb: 2\na: 3\n", "f.yml:3: a: is given twice (first on line 1)"),
    "a key given twice in a flow": (b"a: {x: 1, x: 2}\n", "f.yml:1: x: is given twice (first on line 1)"),
    "not UTF-8": (b"a: 1\nb: \xff\xfe\n", "f.yml:2: is not UTF-8"),
    "a control character": (b"a: 1\nb: \x01\n", "f.yml:2: has a character"),
    "an escape that is no character": (b'a: "\\U00110000"\n', "f.yml:1: "),
    "half a surrogate": (b'a: "\\ud800"\n', "f.yml:1: "),
    "a NUL": (b'a: "\\0"\n', "f.yml:1: has an escape"),
    "an open bracket": (b"a: [1, 2\n", "f.yml:2: "),
    "two documents": (b"a: 1\n---\nb: 1\n", "f.yml:2: has a second document"),
    "nothing": (b"", "f.yml:1: is empty"),
    "only a comment": (b"# nothing\n", "f.yml:1: is empty"),
    "a key that is a list": (b"? [a]\n: 1\n", "f.yml:1: a key must be a word"),
    "an unknown alias": (b"a: *b\n", "f.yml:1: "),
    "a value inside itself": (b"a: &a\n  b: *a\n", "f.yml:2: contains itself"),
    "brackets without end": (b"[" * 50_000, "f.yml:1: is nested too deeply"),
    "dashes without end": (b"- " * 50_000, "f.yml:1: is nested too deeply"),
    "a merge of no mapping": (b"a:\n  <<: 1\n", "f.yml:2: << must name a mapping"),
}


@pytest.mark.parametrize(("data", "message"), WRONG.values(), ids=WRONG)
def test_a_wrong_file_is_one_line_with_its_place(data: bytes, message: str) -> None:
    with pytest.raises(UsageError) as error:
        parse(data, "f.yml")
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)


def test_a_bomb_of_aliases_ends_early() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    with pytest.raises(UsageError, match=r"f\.yml:\d+: has more than 100000 values"):
        parse("\n".join(lines).encode(), "f.yml")


def test_a_tower_of_aliases_is_nested_too_deeply() -> None:
    lines = ["a0: &a0 [x]", *(f"a{n}: &a{n} [*a{n - 1}]" for n in range(1, 400))]
    with pytest.raises(UsageError, match=r"f\.yml:\d+: is nested too deeply"):
        parse("\n".join(lines).encode(), "f.yml")


@pytest.mark.parametrize("data", [b"a: 1\r\nb:\r\n  - x\r\n", b"\xef\xbb\xbfa: 1\nb:\n  - x\n", b"a: 1\nb: [x]"])
def test_windows_line_ends_and_byte_order_marks_are_read(data: bytes) -> None:
    assert plain(parse(data, "f.yml")) == {"a": 1, "b": ["x"]}


def test_values_carry_the_lines_of_their_keys() -> None:
    document = parse(b"# top\na:\n  b: 1\n  c:\n    - x\n    - y\n", "f.yml")
    inner = document.value["a"].value
    assert (inner["b"].where, inner["c"].where) == ("f.yml:3", "f.yml:4")
    assert [item.line for item in inner["c"].value] == [5, 6]


@pytest.mark.parametrize(
    ("word", "value"),
    [
        *(("true", True), ("Yes", True), ("off", False), ("~", None), ("", None), ("NULL", None), ("none", "none")),
        *(
            ("12", 12),
            ("-1", -1),
            ("131_072", 131072),
            ("0", 0),
            ("0123", "0123"),
            ("0x1f", "0x1f"),
            ("12:30", "12:30"),
        ),
        *(("0.70", 0.7), (".5", 0.5), ("1e-5", 1e-5), (".inf", ".inf"), ("1e999", "1e999"), ("9" * 5000, "9" * 5000)),
        *(("2026-05-06", "2026-05-06"), ("128k", "128k"), ("moe,qkv", "moe,qkv"), ("'1'", "1"), ('"no"', "no")),
    ],
)
def test_an_unquoted_word_means_what_it_looks_like(word: str, value: object) -> None:
    assert parse(f"a: {word}\n".encode(), "f.yml").value["a"].value == value


def test_anchors_and_merge_keys_are_read_with_own_keys_first() -> None:
    document = parse(b"base: &b {x: 1, y: 2}\nmore:\n  <<: *b\n  y: 3\n", "f.yml")
    assert plain(document)["more"] == {"x": 1, "y": 3}


def test_a_tagged_value_of_someone_else_is_kept_opaque() -> None:
    assert parse(b"a: !vault |\n  abc\n", "f.yml").value["a"].value == Opaque("!vault")


def outcome(data: bytes) -> str:
    """Where the value stands, or the message."""
    try:
        return parse(data, "f.yml").where
    except UsageError as error:
        return str(error)


@pytest.fixture(params=["CSafeLoader", "SafeLoader"], autouse=True)
def parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both of PyYAML's parsers, where both are there."""
    if not hasattr(yaml, request.param):
        pytest.skip("this PyYAML has no C parser")
    monkeypatch.setattr(located, "PARSER", getattr(yaml, request.param))


YAMLISH = st.text(alphabet=st.sampled_from("ab:- \n\t[]{}#&*!|>'\"%@`,?0.~<=\\\r\x00\u00e9\u2028"), max_size=60)


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.one_of(YAMLISH.map(str.encode), st.binary(max_size=60)))
def test_nonsense_is_read_or_refused_in_one_line(data: bytes) -> None:
    assert outcome(data).startswith("f.yml:")
    assert "\n" not in outcome(data)
