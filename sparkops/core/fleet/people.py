"""The API keys of people at a fleet's endpoint, as `keys.json` on its node has them: digests, limits, no key itself."""

import datetime
import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from sparkops.core.facts.reading import mapping


@dataclass(frozen=True)
class PersonKey:
    """A person's key: its SHA-256 digest, the day it was added, and its limits; None stands for no limit.

    `models` are names at the endpoint, `expires` the last day on which the key is good, in UTC as days begin there.
    """

    digest: str
    added: str
    models: tuple[str, ...] | None = None
    rpm: int | None = None
    parallel: int | None = None
    tokens_per_day: int | None = None
    expires: str | None = None

    def expired(self, today: str) -> bool:
        return self.expires is not None and today > self.expires


@dataclass(frozen=True)
class People:
    """Keys by the name of the person. `serial` grows with each change; of several copies the highest one is newest.

    It is at least the Unix time of the change, so that keys that begin anew elsewhere are newer than those left behind.
    """

    keys: Mapping[str, PersonKey] = field(default_factory=dict)
    serial: int = 0

    def having(self, name: str, key: PersonKey, now: int = 0) -> "People":
        return People({**self.keys, name: key}, max(self.serial + 1, now))

    def without(self, name: str, now: int = 0) -> "People":
        return People({one: key for one, key in self.keys.items() if one != name}, max(self.serial + 1, now))


def written(people: People) -> str:
    """The text of `keys.json`."""
    keys = {
        name: {what: value for what, value in asdict(one).items() if value is not None}
        for name, one in sorted(people.keys.items())
    }
    serial = {"serial": people.serial} if people.serial else {}
    return json.dumps({"version": 1, **serial, "keys": keys}, indent=1)


def read(text: str) -> People:
    """The keys in such a text, which may be anybody's; raises ValueError."""
    try:
        found: Any = json.loads(text)
        keys = {name: _key(entry) for name, entry in found["keys"].items()}
        if not all(map(str.isprintable, keys)):
            raise ValueError("a name has characters that cannot be shown")
        return People(keys, _number(found.get("serial")) or 0)
    except (AttributeError, KeyError, TypeError, RecursionError) as error:
        raise ValueError(f"it is no list of keys: {error!r}") from error


def with_page_keys(
    text: str, wanted: Mapping[str, str], gone: Collection[tuple[str, str]], today: str, now: int
) -> str:
    """The text with the keys of pages: `wanted` and `gone` are their names and digests. Limits that one has stay.

    The same text if nothing changes; raises ValueError if it cannot be read.
    """
    if not (wanted or gone):
        return text
    people = read(text)
    for name, digest in wanted.items():
        known = people.keys.get(name)
        if known is None or known.digest != digest:
            new = replace(known, digest=digest, added=today) if known else PersonKey(digest, today)
            people = people.having(name, new, now)
    for name, digest in gone:
        if name in people.keys and people.keys[name].digest == digest:
            people = people.without(name, now)
    return text if people == read(text) else written(people)


def newest(texts: Iterable[str]) -> str:
    """Of copies of the file the one that changed last, or one that cannot be read; without any, an empty one."""
    return max(texts, key=_serial, default="") or written(People())


def _serial(text: str) -> float:
    try:
        return read(text).serial
    except ValueError:
        return float("inf")


def _key(entry: Any) -> PersonKey:
    found = mapping(entry)
    models, last = found.get("models"), found.get("expires")
    if models is not None and not (isinstance(models, list) and all(isinstance(one, str) and one for one in models)):
        raise ValueError("models is no list of names")
    rpm, parallel, tokens = (_number(found.get(name)) for name in ("rpm", "parallel", "tokens_per_day"))
    return PersonKey(
        str(found["digest"]),
        str(found.get("added", "")),
        None if models is None else tuple(models),
        rpm,
        parallel,
        tokens,
        None if last is None else datetime.date.fromisoformat(str(last)).isoformat(),
    )


def _number(value: Any) -> int | None:
    """A number above 0, as the endpoint takes it: what it refuses must not be shown as in force."""
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and value > 0):
        return value
    raise ValueError(f"{value!r} is no number above 0")
