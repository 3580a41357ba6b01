"""Values as text that a person can review in a golden file."""

import json
from dataclasses import MISSING, fields
from typing import Any

from sparkops.core.facts import plain


def told(value: Any) -> str:
    """A value on one line; of a dataclass what differs from its defaults."""
    if hasattr(value, "__dataclass_fields__"):
        return " ".join(f"{name}={told(item)}" for name, item in fields_said(value).items())
    return json.dumps(plain(value), ensure_ascii=False)


def fields_said(value: Any) -> dict[str, Any]:
    """The fields of a dataclass that are not as they are when nobody says anything."""
    found = {}
    for one in fields(value):
        usual = one.default_factory() if one.default_factory is not MISSING else one.default
        if (item := getattr(value, one.name)) != usual:
            found[one.name] = item
    return found
