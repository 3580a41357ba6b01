"""The differences between two ways to serve, by setting, and which of them come from the topology alone."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from sparkops.core.effective import Effective
from sparkops.core.recipe import Setting

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


def compare(a: Effective, b: Effective, fingerprints: Mapping[str, str]) -> Iterator[Difference]:
    """What differs in model, command line, environment, image and mounts, in this order.

    Two references to one image, by `fingerprints`, are no difference.
    """
    for key, x, y in (("model", a.model, b.model), ("revision", a.recipe.revision, b.recipe.revision)):
        if x != y:
            yield Difference("model", key, Setting(x, a.recipe.source), Setting(y, b.recipe.source))
    if a.recipe.starts != b.recipe.starts:
        left, right = (Setting(" ".join(one.recipe.starts), one.recipe.source) for one in (a, b))
        yield Difference("command", "program", left, right)
    yield from _settings("command", dict(_flat(a.args)), dict(_flat(b.args)))
    yield from _settings("env", a.env, b.env)
    if a.image != b.image and not _same(a.image, b.image, fingerprints):
        yield Difference("image", "image", _image(a.image, fingerprints), _image(b.image, fingerprints))
    for mount in sorted({*a.mounts} ^ {*b.mounts}):
        left, right = Setting(mount in a.mounts or None, ""), Setting(mount in b.mounts or None, "")
        yield Difference("mounts", mount, left, right)


def explained(mixed: Iterable[Difference], alike: Iterable[Difference], one_topology: bool) -> tuple[Difference, ...]:
    """`mixed` with the reason of each difference; `alike` are the differences of both recipes under one topology."""
    others = {(one.part, one.key) for one in alike}
    return tuple(one if one_topology or (one.part, one.key) in others else replace(one, by="topology") for one in mixed)


def _settings(part: Part, a: Mapping[str, Setting], b: Mapping[str, Setting]) -> Iterator[Difference]:
    for key in sorted({*a, *b}):
        x, y = a.get(key, UNSET), b.get(key, UNSET)
        if _plain(x.value) != _plain(y.value):
            yield Difference(part, key, x, y)


def _flat(args: Mapping[str, Setting]) -> Iterator[tuple[str, Setting]]:
    """The flags; a flag with a mapping as one entry for each key."""
    for name, setting in args.items():
        if isinstance(setting.value, Mapping) and setting.value:
            yield from _flat({f"{name}.{key}": Setting(value, setting.origin) for key, value in setting.value.items()})
        else:
            yield name, setting


def _same(a: str, b: str, fingerprints: Mapping[str, str]) -> bool:
    return a in fingerprints and fingerprints[a] == fingerprints.get(b)


def _image(reference: str, fingerprints: Mapping[str, str]) -> Setting:
    """The image as it is shown: its reference, and the start of its fingerprint if that is known."""
    shown = f" ({fingerprints[reference][:12]})" if reference in fingerprints else ""
    return Setting(reference + shown, "")


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
