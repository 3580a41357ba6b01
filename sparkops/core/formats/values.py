"""Values as the launchers see them: a bare word by YAML 1.1, shown as Python's `str` shows it.

Both launchers load with PyYAML and put `str(value)` into the command: `0.70` arrives as 0.7, `yes` as True, `010` as 8.
"""

import re
from typing import Any

from sparkops.core import schema
from sparkops.core.schema import Located

_WHOLE = re.compile(r"[-+]?(0b[01_]+|0x[0-9a-fA-F_]+|0[0-7_]*|[1-9][0-9_]*)")
_SIXTIES = re.compile(r"[-+]?[1-9][0-9_]*(:[0-5]?[0-9])+")
_FLOAT = re.compile(r"[-+]?[0-9][0-9_]*\.[0-9_]*([eE][-+][0-9]+)?|\.[0-9][0-9_]*([eE][-+][0-9]+)?")
_SPECIAL = re.compile(r"([-+]?)\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_LONGEST = 400


def seen(value: Located) -> Any:
    """A value with all below it as PyYAML would give it to a launcher."""
    if isinstance(value.value, dict):
        return {key: seen(item) for key, item in value.value.items()}
    if isinstance(value.value, tuple):
        return [seen(item) for item in value.value]
    if isinstance(value.value, schema.Opaque):
        schema.fail(value, "", f"{schema.kind_of(value.value)} cannot be used here")
    if value.style or value.text is None:
        return value.value
    return bare(value.text)


def bare(text: str) -> Any:
    """An unquoted word by the rules of YAML 1.1."""
    if (word := schema.scalar(text)) is None or isinstance(word, bool):
        return word
    if len(text) > _LONGEST:
        return text
    if _WHOLE.fullmatch(text) or _SIXTIES.fullmatch(text):
        return _whole(text.replace("_", ""), text)
    if _FLOAT.fullmatch(text):
        return float(text.replace("_", ""))
    if found := _SPECIAL.fullmatch(text):
        return float("nan") if found[3] else float(f"{found[1]}inf")
    return text


def _whole(digits: str, text: str) -> int | str:
    sign, digits = (-1 if digits.startswith("-") else 1), digits.lstrip("+-")
    try:
        if ":" in digits:
            total = 0
            for part in digits.split(":"):
                total = total * 60 + int(part)
            return sign * total
        base = {"0b": 2, "0x": 16}.get(digits[:2], 8 if digits.startswith("0") and len(digits) > 1 else 10)
        return sign * int(digits, base)
    except ValueError:
        return text
