"""What a rule is: a pure judgement of settings under a shape. It sees no node; its fixes are data."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal

from sparkops.core import models
from sparkops.core.effective import Effective
from sparkops.core.findings import SettingChange
from sparkops.core.images import KnownImage
from sparkops.core.recipe import Setting, put
from sparkops.core.topology import Shape

Action = Literal["fix", "warn", "refuse"]


@dataclass(frozen=True)
class Verdict:
    """What a rule objects to; `where` is `file:line`, if it is one place of the recipe."""

    action: Action
    message: str
    hint: str = ""
    changes: tuple[SettingChange, ...] = ()
    where: str = ""


warn, refuse = partial(Verdict, "warn"), partial(Verdict, "refuse")


@dataclass(frozen=True)
class Example:
    """Settings that trigger a rule, or that do not; tests run them."""

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
    nccl: str = ""
    program: tuple[str, ...] = ("vllm",)


Judge = Callable[[Effective, Shape], Verdict | tuple[Verdict, ...] | None]
"""A rule that may find several causes returns one verdict for each."""


@dataclass(frozen=True)
class Rule:
    """A judgement and its documentation. `@partial(Rule, …)` makes one of the function below it.

    `why` is what happens without the rule, `source` who found that out, `actions` all that the rule may do. `final`:
    what it refuses fails for certain, so --allow would not help.
    """

    judge: Judge
    id: str
    actions: tuple[Action, ...]
    title: str
    why: str
    source: str
    example_hit: Example
    example_miss: Example
    final: bool = False


def image(effective: Effective) -> KnownImage:
    return effective.known_image


def is_mxfp4(effective: Effective) -> bool:
    return models.is_gpt_oss(effective.model) or effective.value("quantization") == "mxfp4"


def verdicts(rule: Rule, effective: Effective, shape: Shape) -> tuple[Verdict, ...]:
    """All that a rule objects to."""
    found = rule.judge(effective, shape)
    return (found,) if isinstance(found, Verdict) else found or ()


def set_args(effective: Effective, wanted: Mapping[str, Any]) -> tuple[SettingChange, ...]:
    """The changes that bring flags to these values; None drops a flag. A flag with its value already is no change."""
    changes = (SettingChange("args", name, effective.value(name), value) for name, value in wanted.items())
    return tuple(change for change in changes if change.before != change.after)


def set_env(effective: Effective, wanted: Mapping[str, str | None]) -> tuple[SettingChange, ...]:
    """As `set_args`, for environment variables."""
    found = {name: setting.value for name, setting in effective.env.items()}
    changes = (SettingChange("env", name, found.get(name), value) for name, value in wanted.items())
    return tuple(change for change in changes if change.before != change.after)


def fix(message: str, changes: tuple[SettingChange, ...]) -> Verdict | None:
    """A fix with its changes; None if there is nothing to change."""
    return Verdict("fix", message, changes=changes) if changes else None


def apply(effective: Effective, changes: Iterable[SettingChange], origin: str) -> Effective:
    """The settings after a rule's changes; `origin` names the rule."""
    args, env, mounts = dict(effective.args), dict(effective.env), list(effective.mounts)
    for change in changes:
        if change.kind == "mounts":
            mounts.append(change.key)
        elif change.kind == "env":
            env.pop(change.key, None)
            if change.after is not None:
                env[change.key] = Setting(change.after, origin)
        elif change.after is None:
            args.pop(change.key, None)
            args.pop(f"no-{change.key}", None)
        else:
            put(args, change.key, Setting(change.after, origin))
    return replace(effective, args=args, env=env, mounts=tuple(mounts))
