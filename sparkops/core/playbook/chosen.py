"""Which plays and steps `--tags` and `--skip-tags` select."""

from collections.abc import Iterable
from dataclasses import replace

from sparkops.core.playbook.scope import GIVEN
from sparkops.core.playbook.values import Play, Playbook, StepsPlay
from sparkops.core.schema import did_you_mean, one_line
from sparkops.errors import UsageError

ALWAYS = "always"


def chosen(playbook: Playbook, tags: frozenset[str], skip: frozenset[str]) -> Playbook:
    """Without tags everything runs; what is tagged `always` is left out only by `--skip-tags always`."""
    plays = tuple(play for one in playbook.plays if (play := _play(one, tags, skip)) is not None)
    if not plays:
        near = did_you_mean(min(tags, default=""), _tags(playbook))
        raise UsageError(one_line(f"{playbook.source}: --tags and --skip-tags select no step{near}"))
    for play in plays:
        if isinstance(play, StepsPlay):
            _refuse_gaps(play)
    return replace(playbook, plays=plays)


def _tags(playbook: Playbook) -> set[str]:
    parts = [part for play in playbook.plays for part in (play.steps if isinstance(play, StepsPlay) else (play,))]
    return {tag for part in parts for tag in part.tags}


def _refuse_gaps(play: StepsPlay) -> None:
    """Refuse a selected step that needs the result of one that is not."""
    known = {*GIVEN, *play.vars} | {step.register for step in play.steps}
    for step in play.steps:
        for name in step.when.names() if step.when else ():
            if name.root not in known and len(name.path) > 1:
                raise UsageError(
                    f"{step.where}: step {step.name!r} needs {name.root}, but the tags skip the step that registers it"
                )


def _play(play: Play, tags: frozenset[str], skip: frozenset[str]) -> Play | None:
    if not isinstance(play, StepsPlay):
        return play if _meant(play.tags, tags, skip) else None
    steps = tuple(step for step in play.steps if _meant(step.tags, tags, skip))
    return replace(play, steps=steps) if steps else None


def _meant(own: Iterable[str], tags: frozenset[str], skip: frozenset[str]) -> bool:
    mine = frozenset(own)
    return not mine & skip and (not tags or bool(mine & (tags | {ALWAYS})))
