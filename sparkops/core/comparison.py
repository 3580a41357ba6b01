"""What differs between two ways to serve, setting by setting, and which of it comes from the topology alone."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from sparkops.core.recipe import Effective, Setting

Part = Literal["model", "command", "env", "image", "mounts"]
UNSET = Setting(None, "")


@dataclass(frozen=True)
class Difference:
    """One setting in both recipes. `by` is `topology` if the recipes would be equal here under one topology."""

    part: Part
    key: str
    a: Setting
    b: Setting
    by: Literal["topology", "recipe"] = "recipe"

    @property
    def name(self) -> tuple[str, str]:
        return self.part, self.key


def compare(a: Effective, b: Effective, fingerprints: Mapping[str, str]) -> Iterator[Difference]:
    """What differs in model, command line, environment, image and mounts, in this order.

    Two references to one image, by `fingerprints`, are no difference.
    """
    for key, x, y in (("model", a.model, b.model), ("revision", a.recipe.revision, b.recipe.revision)):
        if x != y:
            yield Difference("model", key, Setting(x, a.recipe.source), Setting(y, b.recipe.source))
    yield from _settings("command", dict(_flat(a.args)), dict(_flat(b.args)))
    yield from _settings("env", a.env, b.env)
    if a.image != b.image and (a.image not in fingerprints or fingerprints[a.image] != fingerprints.get(b.image)):
        left, right = (Setting(_named(one, fingerprints), "") for one in (a.image, b.image))
        yield Difference("image", "image", left, right)
    for mount in sorted({*a.mounts} ^ {*b.mounts}):
        left, right = (Setting(mount in mounts or None, "") for mounts in (a.mounts, b.mounts))
        yield Difference("mounts", mount, left, right)


def explained(mixed: Iterable[Difference], alike: Iterable[Difference], one_topology: bool) -> tuple[Difference, ...]:
    """Differences of A under one topology and B under another; `alike` are those of both under either."""
    others = {one.name for one in alike}
    return tuple(one if one_topology or one.name in others else replace(one, by="topology") for one in mixed)


def _settings(part: Part, a: Mapping[str, Setting], b: Mapping[str, Setting]) -> Iterator[Difference]:
    for key in sorted({*a, *b}):
        x, y = a.get(key, UNSET), b.get(key, UNSET)
        if _plain(x.value) != _plain(y.value):
            yield Difference(part, key, x, y)


def _flat(args: Mapping[str, Setting]) -> Iterator[tuple[str, Setting]]:
    """Flags, and those that hold a mapping as one entry a key."""
    for name, setting in args.items():
        if isinstance(setting.value, Mapping) and setting.value:
            yield from _flat({f"{name}.{key}": Setting(value, setting.origin) for key, value in setting.value.items()})
        else:
            yield name, setting


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _named(reference: str, fingerprints: Mapping[str, str]) -> str:
    return f"{reference} ({fingerprints[reference][:12]})" if reference in fingerprints else reference
