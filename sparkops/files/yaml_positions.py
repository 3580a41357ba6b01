"""YAML to located values. Every error (tabs, a key with two values, too many aliases) is one line with its place.

Values are made from the parser's events, so that depth and size are bounded while a file is read, and so that PyYAML's
C parser, ten times as fast where it is there, cannot be overloaded.
"""

import re
from dataclasses import replace
from typing import Any, NoReturn

import yaml
from yaml.reader import Reader

from sparkops.core.schema import Located, Opaque, equal, one_line, scalar
from sparkops.errors import UsageError

MOST_VALUES = 100_000
DEEPEST = 64
PARSER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_NO_CHARACTER = re.compile("[\0\ud800-\udfff]")
_BREAK = re.compile("\r\n|[\n\r\x85\u2028\u2029]")
_TEXT = ("!", "tag:yaml.org,2002:str")
# The C parser reads ahead, so from libyaml 0.2.6 (PyYAML 6.0.4) on its own limit is met before `DEEPEST` is.
_TOO_DEEP = "exceeded maximum nesting depth"
_MAPPING, _SEQUENCE = "tag:yaml.org,2002:map", "tag:yaml.org,2002:seq"


def parse(data: bytes, label: str) -> Located:
    """The value of a file with one document; raises `UsageError` with one line."""
    text = _decoded(data, label)
    if found := Reader.NON_PRINTABLE.search(text):
        line = text.count("\n", 0, found.start()) + 1
        raise UsageError(f"{label}:{line}: has a character that YAML does not allow")
    try:
        return _Composer(text, label).document()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        raise UsageError(one_line(f"{label}:{line}: {_problem(error, text)}")) from None
    except (yaml.YAMLError, ValueError, OverflowError):
        raise UsageError(f"{label}:1: is not YAML, or has an escape sequence that is not a valid character") from None


class _Composer:
    """Turns events into located values; an alias counts as its value each time it is used."""

    def __init__(self, text: str, label: str) -> None:
        self.events = PARSER(text)
        self.lines = _BREAK.split(text)
        self.label = label
        self.count = 0
        self.reached = 0
        self.anchors: dict[str, tuple[Located, int, int] | None] = {}

    def document(self) -> Located:
        try:
            self.events.get_event()
            if isinstance(self.events.get_event(), yaml.StreamEndEvent):
                raise UsageError(f"{self.label}:1: is empty")
            found = self.value(self.events.get_event(), 0)
            self.events.get_event()
            after = self.events.get_event()
            if not isinstance(after, yaml.StreamEndEvent):
                self.fail(after, "has a second document (after ---); a file must have only one")
            return found
        finally:
            self.events.dispose()

    def value(self, event: Any, depth: int) -> Located:
        if isinstance(event, yaml.AliasEvent):
            return self.alias(event, depth)
        if event.anchor is None:
            return self.fresh(event, depth)
        before, deepest, self.reached = self.count, self.reached, depth
        self.anchors[event.anchor] = None
        found = self.fresh(event, depth)
        self.anchors[event.anchor] = found, self.count - before, self.reached - depth
        self.reached = max(deepest, self.reached)
        return found

    def fresh(self, event: Any, depth: int) -> Located:
        self.spend(event, 1, depth)
        if isinstance(event, yaml.ScalarEvent):
            return self.scalar(event)
        if isinstance(event, yaml.SequenceStartEvent):
            return self.made(event, self.items(depth), _SEQUENCE)
        return self.made(event, self.entries(depth), _MAPPING)

    def alias(self, event: Any, depth: int) -> Located:
        if event.anchor not in self.anchors:
            self.fail(event, f"*{event.anchor} has no anchor &{event.anchor} above it")
        known = self.anchors[event.anchor]
        if known is None:
            self.fail(event, f"the alias *{event.anchor} is inside the value of &{event.anchor}")
        found, size, height = known
        self.spend(event, size, depth + height)
        return found

    def scalar(self, event: Any) -> Located:
        text = event.value
        if event.tag is not None and event.tag not in _TEXT:
            return self.made(event, Opaque(event.tag), None)
        if _NO_CHARACTER.search(text):
            self.fail(event, "has an escape sequence that is not a valid character")
        plain = event.style in (None, "") and event.tag is None
        value, style = scalar(text) if plain else text, event.style or "!" * (not plain)
        return Located(value, self.label, _line(event), text, style, self.rows(event))

    def rows(self, event: Any) -> tuple[tuple[int, str], ...]:
        """The lines of a scalar whose words are those of its value; none if it is on one line or keeps its lines."""
        start, end = event.start_mark, event.end_mark
        folded = event.style != "|" and "\n" not in event.value.strip()
        if not folded or not start.line < end.line < len(self.lines):
            return ()
        lines = [*self.lines[start.line : end.line], self.lines[end.line][: end.column]]
        lines[0] = "" if event.style == ">" else lines[0][start.column :]
        rows = [(number, line.strip()) for number, line in enumerate(lines, start.line + 1) if line.strip()]
        joined = " ".join(line for _, line in rows)
        return tuple(rows) if joined.split() == event.value.split() else ()

    def items(self, depth: int) -> tuple[Located, ...]:
        found = []
        while not isinstance(event := self.events.get_event(), yaml.SequenceEndEvent):
            found.append(self.value(event, depth + 1))
        return tuple(found)

    def entries(self, depth: int) -> dict[str, Located]:
        """A mapping's entries at the lines of their keys; `<<` adds keys that the mapping does not have."""
        found: dict[str, Located] = {}
        merged: dict[str, Located] = {}
        while not isinstance(event := self.events.get_event(), yaml.MappingEndEvent):
            if not isinstance(event, yaml.ScalarEvent):
                quotes = "; put a text with {{ }} in quotes" if isinstance(event, yaml.MappingStartEvent) else ""
                self.fail(event, f"a key must be text, not a list or a mapping{quotes}")
            line, key = _line(event), str(self.scalar(event).text)
            value = self.value(self.events.get_event(), depth + 1)
            if key == "<<" and event.style in (None, ""):
                merged |= self.merged(value)
            elif key in found and not equal(found[key], value):
                self.fail(event, f"{key}: is given twice with different values (first on line {found[key].line})")
            elif key in found:
                found[key] = replace(found[key], again=line)
            else:
                found[key] = replace(value, line=line)
        return merged | found

    def merged(self, value: Located) -> dict[str, Located]:
        made: dict[str, Located] = {}
        for item in reversed(value.value if isinstance(value.value, tuple) else (value,)):
            if not isinstance(item.value, dict):
                raise UsageError(f"{self.label}:{item.line}: << must refer to a mapping")
            made |= item.value
        return made

    def made(self, event: Any, value: Any, usual: str | None) -> Located:
        opaque = event.tag not in (None, "!", usual)
        return Located(Opaque(event.tag) if opaque else value, self.label, _line(event))

    def spend(self, event: Any, values: int, depth: int) -> None:
        self.count += values
        self.reached = max(self.reached, depth)
        if depth > DEEPEST:
            self.fail(event, "is nested too deeply")
        if self.count > MOST_VALUES:
            self.fail(event, f"has more than {MOST_VALUES} values (an alias counts as all values that it refers to)")

    def fail(self, event: Any, problem: str) -> NoReturn:
        raise UsageError(one_line(f"{self.label}:{_line(event)}: {problem}"))


def _line(event: Any) -> int:
    return int(event.start_mark.line) + 1


def _decoded(data: bytes, label: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise UsageError(f"{label}:{line}: is not UTF-8 text") from None


def _problem(error: yaml.MarkedYAMLError, text: str) -> str:
    """The parser's message, or one about a tab in the indentation."""
    mark = error.problem_mark
    if mark is not None:
        lines = text.split("\n")
        line = lines[mark.line] if mark.line < len(lines) else ""
        if "\t" in line[: mark.column + 1] and not line[: mark.column].strip():
            return "has a tab where YAML needs spaces"
    if error.problem == _TOO_DEEP:
        return "is nested too deeply"
    return error.problem or "is not YAML"
