"""Which alerts are told now: each once when it begins, once when it gets worse, and once when it is over."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from sparkops.core.watch.alerts import Alert, AlertKey
from sparkops.core.watch.deployment import UNWATCHED
from sparkops.core.watch.notice import Notice
from sparkops.core.watch.picture import Picture


class ToldAlert(NamedTuple):
    """An alert that somebody was told of, the second when it began, and when it was last there."""

    alert: Alert
    began: float
    last: float


@dataclass(frozen=True)
class Telling:
    """`told` are the alerts that are not over."""

    told: Mapping[AlertKey, ToldAlert] = field(default_factory=dict)

    def after(self, shown: Picture, lasting: float = 0.0, quiet: bool = False) -> tuple["Telling", Sequence[Notice]]:
        """What to tell of this picture. An alert begins, and is over, when it was so for `lasting` seconds.

        In quiet hours nothing; what is still wrong at their end is told then.
        """
        there = {
            one.key: one
            for one in shown.alerts
            if one.key in self.told or shown.now - shown.since.get(one.key, shown.now) >= lasting
        }
        there |= {
            key: one.alert for key, one in self.told.items() if key not in there and not _judged(one.alert, shown)
        }
        known = {key: one._replace(last=shown.now) if key in there else one for key, one in self.told.items()}
        if quiet:
            return Telling(known), ()
        began = [one for key, one in there.items() if key not in known or one.grave > known[key].alert.grave]
        over = {key: one for key, one in known.items() if key not in there and shown.now - one.last >= lasting}
        told = {key: one for key, one in known.items() if key not in over} | {
            one.key: ToldAlert(one, shown.since.get(one.key, shown.now), shown.now) for one in began
        }
        ended = (Notice(one.alert, over=True, seconds=one.last - one.began) for one in over.values())
        return Telling(told), [*map(Notice, began), *ended]


def _judged(alert: Alert, shown: Picture) -> bool:
    """Whether its end can be seen: not while its node tells nothing, or a run of sparkops changes its deployment."""
    if alert.node in shown.nodes and not shown.tells(alert.node):
        return False
    about = [one for one in shown.deployments if one.name == alert.deployment]
    return not any(one.busy or any(rank.node.problem not in ("", UNWATCHED) for rank in one.ranks) for one in about)
