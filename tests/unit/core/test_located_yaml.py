"""What a YAML file can do wrong is one line with its place, or the file is read right, whichever parser there is."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from sparkops.core.schema import Located
from sparkops.errors import UsageError
from sparkops.files import yaml_positions
from sparkops.files.yaml_positions import parse
from support import golden

PARSERS = [getattr(yaml, name) for name in ("CSafeLoader", "SafeLoader") if hasattr(yaml, name)]
ENDLESS = {
    "a bomb of aliases": (
        ["a0: &a0 [x]", *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12))],
        r"has more than 100000 values \(an alias counts as all values that it refers to\)",
    ),
    "a tower of aliases": (
        ["a0: &a0 [x]", *(f"a{n}: &a{n} [*a{n - 1}]" for n in range(1, 400))],
        "is nested too deeply",
    ),
    "brackets": (["[" * 50_000], "is nested too deeply"),
    "dashes": (["- " * 50_000], "is nested too deeply"),
}


def outcome(data: bytes) -> str:
    """What PyYAML's parsers make of it; where they say it in words of their own, the place only."""
    made = []
    with pytest.MonkeyPatch.context() as patch:
        for parser in PARSERS:
            patch.setattr(yaml_positions, "PARSER", parser)
            made.append(golden.refusal(lambda: placed(parse(data, "f.yml"))))
    if len(set(made)) > 1:
        made = [re.sub(r"^(refused: f\.yml:\d+:).*", r"\1", one) for one in made]
    return "\n".join(dict.fromkeys(made))


def placed(one: Located) -> str:
    """A value with the line of each part, and how a scalar was written where that is not how it is shown."""
    value: Any = one.value
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key}: {placed(item)}' for key, item in value.items())}}}@{one.line}"
    if isinstance(value, tuple):
        return f"[{', '.join(placed(item) for item in value)}]@{one.line}"
    written = "" if one.text in (None, str(value)) else f" written {one.text!r}"
    return f"{value!r}@{one.line}{written}{f' in {one.style}' if one.style else ''}"


@pytest.mark.skipif(len(PARSERS) < 2, reason="this PyYAML has no C parser")
def test_each_file_is_read_or_refused_as_its_line_says() -> None:
    golden.hold_lines(
        Path(__file__).parent / "said" / "yaml.txt",
        lambda line: outcome(line.encode("latin-1").decode("unicode_escape").encode("latin-1")),
    )


@pytest.mark.parametrize(("lines", "message"), ENDLESS.values(), ids=ENDLESS)
@pytest.mark.parametrize("parser", PARSERS)
def test_what_has_no_end_is_refused_early(
    monkeypatch: pytest.MonkeyPatch, parser: object, lines: list[str], message: str
) -> None:
    monkeypatch.setattr(yaml_positions, "PARSER", parser)
    with pytest.raises(UsageError) as error:
        parse("\n".join(lines).encode(), "f.yml")
    assert re.fullmatch(rf"f\.yml:\d+: {message}", error.value.message)


YAMLISH = st.text(alphabet=st.sampled_from("ab:- \n\t[]{}#&*!|>'\"%@`,?0.~<=\\\r\x00\u00e9\u2028"), max_size=60)


@settings(max_examples=400, deadline=None)
@given(st.one_of(YAMLISH.map(str.encode), st.binary(max_size=60)))
def test_nonsense_is_read_or_refused_in_one_line(data: bytes) -> None:
    outcome(data)
