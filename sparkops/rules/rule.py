"""What a rule is: a pure judgement of settings under a shape. It sees no node; its fixes are data."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from sparkops.core import images, models
from sparkops.core.findings import SettingChange
from sparkops.core.images import KnownImage
from sparkops.core.models import KnownModel
from sparkops.core.recipe import Effective, Setting, put
from sparkops.core.topology import Shape

Action = Literal["fix", "warn", "refuse"]


@dataclass(frozen=True)
class Verdict:
    """What a rule says when it has something to say."""

    action: Action
    message: str
    hint: str = ""
    changes: tuple[SettingChange, ...] = ()


@dataclass(frozen=True)
class Example:
    """Settings that a rule speaks to, or that it has nothing against; run as tests."""

    topology: str = "solo"
    model: str = "openai/gpt-oss-120b"
    image: str = "vllm-node-mxfp4"
    args: Mapping[str, Any] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    mounts: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    nodes: int = 2
    most: int | None = None
    executor: Literal["ray", "mp"] = "ray"
    benchmark: tuple[str, ...] = ()
    mods: tuple[str, ...] = ()
    caveats: tuple[str, ...] = ()


@dataclass(frozen=True)
class Rule:
    """`why` is what happens without it, `source` who found that out, `actions` all that it may do."""

    id: str
    actions: tuple[Action, ...]
    title: str
    why: str
    source: str
    example_hit: Example
    example_miss: Example
    judge: Callable[[Effective, Shape], Verdict | None]


def image(effective: Effective) -> KnownImage:
    known, table = images.known(effective.image), effective.recipe.flags
    own = table.exact and table.image in ("", effective.image)
    return images.with_flags(known, table.flags) if own else known


def model(effective: Effective) -> KnownModel | None:
    return models.known(effective.model)


def tensor_parallel(effective: Effective) -> int:
    return int(effective.number("tensor-parallel-size", 1))


def is_mxfp4(effective: Effective) -> bool:
    return models.is_gpt_oss(effective.model) or effective.value("quantization") == "mxfp4"


def set_args(effective: Effective, **wanted: Any) -> tuple[SettingChange, ...]:
    """Changes that bring flags to these values: `enforce_eager=True`; None drops one. Equal ones are no change."""
    named = {key.replace("_", "-"): value for key, value in wanted.items()}
    changes = (SettingChange("args", key, effective.value(key), value) for key, value in named.items())
    return tuple(change for change in changes if change.before != change.after)


def set_env(effective: Effective, wanted: Mapping[str, str | None]) -> tuple[SettingChange, ...]:
    """Changes that bring environment variables to these values; None drops one. Equal ones are no change."""
    found = {name: effective.env[name].value if name in effective.env else None for name in wanted}
    return tuple(
        SettingChange("env", name, found[name], value) for name, value in wanted.items() if found[name] != value
    )


def fix(message: str, changes: Iterable[SettingChange], hint: str = "") -> Verdict | None:
    """A fix with its changes; nothing to change is nothing to say."""
    made = tuple(changes)
    return Verdict("fix", message, hint, made) if made else None


def apply(effective: Effective, changes: Iterable[SettingChange], origin: str) -> Effective:
    """The settings after a rule's changes, which carry the rule as their origin."""
    args, env, mounts = dict(effective.args), dict(effective.env), list(effective.mounts)
    for change in changes:
        if change.kind == "mounts":
            mounts.append(change.key)
        elif change.kind == "env":
            _set(env, change, origin)
        elif change.after is None:
            args.pop(change.key, None)
            args.pop(f"no-{change.key}", None)
        else:
            put(args, change.key, Setting(change.after, origin))
    return replace(effective, args=args, env=env, mounts=tuple(mounts))


def _set(settings: dict[str, Setting], change: SettingChange, origin: str) -> None:
    settings.pop(change.key, None)
    if change.after is not None:
        settings[change.key] = Setting(change.after, origin)
