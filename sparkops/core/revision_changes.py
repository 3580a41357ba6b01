"""What differs between two revisions, in words: one line for each difference."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sparkops.core.facts.reading import grouped, mapping
from sparkops.core.revision import differences, short

Json = Mapping[str, Any]

SETTINGS = ("args", "env")
"""Their lines name the key as `--set` takes it."""

NAMES = {
    "kind": "kind of model",
    "model_revision": "revision of the model",
    "models": "revision of",
    "served": "name of the model for clients",
}
"""The words for keys that no recipe has. Other keys are shown as they are, with blanks for underscores."""

ROLES = {"head": "head", "worker": "workers", "server": "servers", "proxy": "proxy", "page": "page"}


def in_words(old: Json, new: Json) -> tuple[str, ...]:
    """What changed between the JSON of two revisions: `args.max-model-len 4096 -> 32768`, `servers: a, b -> a`."""
    return tuple(line for key in sorted({*old, *new}) for line in _difference(key, old.get(key), new.get(key)))


def _difference(key: str, before: Any, after: Any) -> Iterator[str]:
    name = NAMES.get(key, key.replace("_", " "))
    if before == after:
        return
    if key == "members":
        yield from _members(_list(before), _list(after))
    elif key == "mounts":
        yield from (f"mount removed: {one}" for one in _list(before) if one not in _list(after))
        yield from (f"mount added: {one}" for one in _list(after) if one not in _list(before))
    elif key in ("image", "proxy_image"):
        yield _image(name, mapping(before), mapping(after))
    elif key == "without_key":
        yield "API key: required -> not required" if after else "API key: not required -> required"
    elif key == "proxy_metrics":
        yield f"proxy's metrics: {'off -> on' if after else 'on -> off'}"
    elif key in SETTINGS:
        yield from differences(mapping(before), mapping(after), f"{key}.")
    elif key == "models":
        yield from differences(mapping(before), mapping(after), f"{name} ")
    else:
        yield f"{name}: {short(before)} -> {short(after)}"


def _image(name: str, before: Json, after: Json) -> str:
    old, new = before.get("reference", "none"), after.get("reference", "none")
    return f"{name}: another build of {new}" if old == new else f"{name}: {old} -> {new}"


def _members(before: Sequence[Any], after: Sequence[Any]) -> Iterator[str]:
    """The nodes of each role that changed; what changed at a member that keeps node and role."""
    old, new = _by_role(before), _by_role(after)
    for role, word in ROLES.items():
        was, now = list(old.get(role, {})), list(new.get(role, {}))
        if was != now:
            yield f"{word}: {', '.join(was) or 'none'} -> {', '.join(now) or 'none'}"
        for node in (name for name in was if name in now):
            yield from _member(role, node, old[role][node], new[role][node])


def _by_role(members: Sequence[Any]) -> dict[str, dict[str, Json]]:
    parts = [mapping(one) for one in members]
    by_role = grouped((str(one.get("role")), one) for one in parts)
    return {role: {str(one.get("name")): one for one in ones} for role, ones in by_role.items()}


def _member(role: str, node: str, before: Json, after: Json) -> Iterator[str]:
    old, new = _flat(before), _flat(after)
    for key in sorted({*old, *new}):
        if old.get(key) != new.get(key):
            yield f"{key} of the {role} on {node}: {short(old.get(key))} -> {short(new.get(key))}"


def _flat(member: Json) -> Json:
    """What a member has beside its node, role and rank; the lists by role show these."""
    link = {f"fabric {key}": value for key, value in mapping(member.get("link")).items()}
    own = {key.replace("_", " "): value for key, value in member.items() if key not in ("name", "role", "rank", "link")}
    return {**own, **link}


def _list(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else ()
