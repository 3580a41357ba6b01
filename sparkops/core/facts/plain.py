"""Facts as plain data, for JSON documents."""

from collections.abc import Mapping, Set
from dataclasses import fields, is_dataclass
from typing import Any

from sparkops.core.facts.raw import Unread


def plain(value: Any) -> Any:
    """The value made of dicts, lists, texts and numbers; what could not be read is `{"unread": REASON}`."""
    if isinstance(value, Unread):
        return {"unread": value.reason}
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, Set):
        return sorted(plain(item) for item in value)
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    return value if value is None or isinstance(value, str | int | float | bool) else str(value)
