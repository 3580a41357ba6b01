"""The two template languages: Python's `str.format`, once (schema "1"), `{key}` until nothing changes (schema "2")."""

import re
from collections.abc import Iterator, Mapping
from string import Formatter
from typing import Any

PASSES = 10
LONGEST = 200_000
_KEY = re.compile(r"\{([^{}]*)\}")
_UNFILLED = re.compile(r"(?<!\$)\{([^{}]*)\}")
"""A placeholder that nothing filled; `${NAME}` is the shell's."""

_BRACES = re.compile(r"\{\{|\}\}|(\{[^{}]*\})|[{}]")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_SPEC = re.compile(r"[-+ ]?0?[0-9]{0,2}(\.[0-9]{1,2})?[a-zA-Z%]?")
_OPEN, _CLOSE = "\x00", "\x01"


class TemplateError(ValueError):
    """Why a launcher cannot render a template."""


def formatted(template: str, values: Mapping[str, Any]) -> str:
    """`template.format(**values)`, but a field is a plain key without attributes or items."""
    made, length = [], 0
    try:
        for literal, field, spec, conversion in Formatter().parse(template):
            made.append(literal)
            if field is not None and literal.endswith("$") and field not in values:
                raise TemplateError(f"${{{_short(field)}}} is not a placeholder: double its braces")
            if field is not None:
                made.append(_field(field, spec or "", conversion, values))
            length += sum(map(len, made[-2:]))
            if length > LONGEST:
                raise TemplateError(f"is longer than {LONGEST} characters after its placeholders are filled")
    except TemplateError:
        raise
    except ValueError as error:
        raise TemplateError(f"{error}; double each brace that is not part of a placeholder") from None
    return "".join(made)


def literal(template: str) -> bool:
    """Whether a template has braces that `str.format` does not take: JSON, `${NAME}`, or one without its pair."""
    try:
        for text, field, _, _ in Formatter().parse(template):
            if field is not None and (text.endswith("$") or not _NAME.fullmatch(field)):
                return True
    except ValueError:
        return True
    return False


def _field(field: str, spec: str, conversion: str | None, values: Mapping[str, Any]) -> str:
    if field not in values:
        if not _NAME.fullmatch(field):
            raise TemplateError(f"{{{_short(field)}}} is not a placeholder: double its braces")
        raise TemplateError(f"placeholder {{{_short(field)}}} has no value in defaults")
    if not _SPEC.fullmatch(spec):
        raise TemplateError(f"placeholder {{{_short(field)}}} has an unsupported format")
    value = values[field] if conversion is None else {"r": repr, "a": ascii}.get(conversion, str)(values[field])
    return format(value, spec) if spec else str(value)


def substituted(template: str, values: Mapping[str, Any]) -> tuple[str, tuple[str, ...]]:
    """The text with each `{key}` replaced, again until nothing changes, and the names without a value.

    If the template contains `{{`, doubled braces become single ones. Braces around anything but a key stay, as in JSON.
    """
    text = _masked(template)
    for _ in range(PASSES):
        after = "".join(_pieces(text, values))
        if after == text:
            break
        text = after
    else:
        raise TemplateError("a value in defaults contains its own placeholder")
    left = tuple(found[1] for found in _UNFILLED.finditer(text) if _NAME.fullmatch(found[1]))
    return text.replace(_OPEN, "{").replace(_CLOSE, "}"), left


def _pieces(text: str, values: Mapping[str, Any]) -> Iterator[str]:
    """The text in pieces with its placeholders replaced; raises TemplateError if it becomes longer than LONGEST."""
    done = length = 0
    for found in _KEY.finditer(text):
        value = values.get(found[1])
        piece = text[done : found.start()] + (found[0] if value is None else str(value))
        length += len(piece)
        if length > LONGEST:
            raise TemplateError(f"is longer than {LONGEST} characters after its placeholders are filled")
        yield piece
        done = found.end()
    yield text[done:]


def _masked(template: str) -> str:
    """Replace doubled and literal braces by marks, if the template doubles its braces (it contains `{{`)."""
    if "{{" not in template:
        return template
    return _BRACES.sub(lambda found: found[1] or {"{": _OPEN, "}": _CLOSE}[found[0][0]], template)


def _short(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:37]}..."
