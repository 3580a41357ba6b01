"""Located values become dataclasses; what does not fit is named with file, line, key path and nearest name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import pytest

from sparkops.core import schema
from sparkops.core.schema import Located
from sparkops.errors import UsageError
from sparkops.located import parse


@dataclass(frozen=True)
class Part:
    name: str
    size: float = 1.0


@dataclass(frozen=True)
class Whole:
    title: str
    count: int = 1
    loud: bool = False
    kind: Literal["red", "blue"] = "red"
    tags: tuple[str, ...] = ()
    parts: tuple[Part, ...] = ()
    when_not: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    raw: Located | None = None


def built(text: str) -> Whole:
    return schema.build(Whole, parse(text.encode(), "f.yml"))


def test_a_mapping_becomes_a_dataclass() -> None:
    whole = built(
        "title: 12\ncount: 3\nloud: yes\nkind: blue\ntags: [a, 7]\nparts: [{name: p, size: 2}]\nwhen-not: x\n"
    )
    assert whole == Whole("12", 3, True, "blue", ("a", "7"), (Part("p", 2.0),), "x")


def test_free_mappings_come_out_plain_and_located_fields_stay_located() -> None:
    whole = built("title: t\nextra: {a: [1, {b: null}]}\nraw: {c: 1}\n")
    assert whole.extra == {"a": [1, {"b": None}]}
    assert whole.raw is not None
    assert whole.raw.value["c"].where == "f.yml:3"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("titel: x\n", "f.yml:1: titel: unknown key (did you mean title?)"),
        ("title: x\nzzz: 1\n", "f.yml:2: zzz: unknown key (there are: "),
        ("title: x\nparts:\n  - nam: p\n", "f.yml:3: parts[0].nam: unknown key (did you mean name?)"),
        ("count: 1\n", "f.yml:1: title: is required"),
        ("title: x\nparts:\n  - size: 1\n", "f.yml:3: parts[0].name: is required"),
        ("title: [x]\n", "f.yml:1: title: must be text, not a list"),
        ("title: x\ncount: many\n", "f.yml:2: count: must be a whole number, not 'many'"),
        ("title: x\ncount: true\n", "f.yml:2: count: must be a whole number, not True"),
        ("title: x\nloud: 3\n", "f.yml:2: loud: must be true or false, not 3"),
        ("title: x\nkind: green\n", "f.yml:2: kind: must be red or blue, not 'green'"),
        ("title: x\ntags: a\n", "f.yml:2: tags: must be a list, not text"),
        ("title: x\nextra: [a]\n", "f.yml:2: extra: must be a mapping, not a list"),
        ("title: x\nparts: [{name: p, size: big}]\n", "f.yml:2: parts[0].size: must be a number, not 'big'"),
        ("title: !vault x\n", "f.yml:1: title: must be text, not a !vault value"),
        ("- a\n", "f.yml:1: must be a mapping, not a list"),
    ],
)
def test_what_does_not_fit_is_named(text: str, message: str) -> None:
    with pytest.raises(UsageError) as error:
        built(text)
    assert str(error.value).startswith(message)


def test_a_message_stays_one_line_whatever_the_file_holds() -> None:
    with pytest.raises(UsageError) as error:
        built('"ti\\ntle": x\n')
    assert str(error.value).startswith("f.yml:1: ti tle: unknown key")
