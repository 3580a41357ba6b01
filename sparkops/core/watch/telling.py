"""Which alerts are told now: each once when it begins, once when it gets worse, and once when it is over."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sparkops.core.watch.alerts import Alert
from sparkops.core.watch.deployment import UNWATCHED
from sparkops.core.watch.notice import Notice
from sparkops.core.watch.picture import Picture

Key = tuple[str, str, str]


@dataclass(frozen=True)
class Telling:
    """`told` are the alerts that somebody was told of and that are not over, with the second each was last there."""

    told: Mapping[Key, tuple[Alert, float]] = field(default_factory=dict)

    def after(self, shown: Picture, lasting: float = 0.0, quiet: bool = False) -> tuple["Telling", Sequence[Notice]]:
        """What to tell of this picture. An alert begins, and is over, when it was so for `lasting` seconds.

        In quiet hours nothing; what is still wrong at their end is told then.
        """
        there = {
            one.key: one
            for one in shown.alerts
            if one.key in self.told or shown.now - shown.since.get(one.key, shown.now) >= lasting
        }
        there |= {key: one for key, (one, _) in self.told.items() if key not in there and not _judged(one, shown)}
        known = {key: (one, shown.now if key in there else last) for key, (one, last) in self.told.items()}
        if quiet:
            return Telling(known), ()
        began = [one for key, one in there.items() if key not in known or one.grave > known[key][0].grave]
        over = [one for key, (one, last) in known.items() if key not in there and shown.now - last >= lasting]
        gone = {one.key for one in over}
        told = {key: one for key, one in known.items() if key not in gone} | {
            one.key: (one, shown.now) for one in began
        }
        return Telling(told), [*map(Notice, began), *(Notice(one, over=True) for one in over)]


def _judged(alert: Alert, shown: Picture) -> bool:
    """Whether its end can be seen: not while its node tells nothing, or a run of sparkops changes its deployment."""
    if alert.node in shown.nodes and not shown.tells(alert.node):
        return False
    about = [one for one in shown.deployments if one.name == alert.deployment]
    return not any(one.busy or any(rank.node.problem not in ("", UNWATCHED) for rank in one.ranks) for one in about)
