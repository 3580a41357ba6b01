"""Which alerts are told now: each once when it begins and once when it is over."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sparkops.core.watch.alerts import Alert
from sparkops.core.watch.notice import Notice

Key = tuple[str, str, str]


@dataclass(frozen=True)
class Telling:
    """`told` are the alerts that somebody was told of and that are not over, with the second each was last there."""

    told: Mapping[Key, tuple[Alert, float]] = field(default_factory=dict)

    def after(
        self, alerts: Sequence[Alert], now: float, patience: float = 0.0, quiet: bool = False
    ) -> tuple["Telling", Sequence[Notice]]:
        """What to tell at the second `now`; `patience`: seconds for which an alert is away before it is over.

        In quiet hours nothing; what is still wrong at their end is told then.
        """
        there = {one.key: one for one in alerts}
        known = {key: (there.get(key, one), now if key in there else last) for key, (one, last) in self.told.items()}
        if quiet:
            return Telling(known), ()
        over = {key: one for key, (one, last) in known.items() if key not in there and now - last >= patience}
        began = {key: one for key, one in there.items() if key not in known}
        told = {key: one for key, one in known.items() if key not in over} | {
            key: (one, now) for key, one in began.items()
        }
        return Telling(told), [*map(Notice, began.values()), *(Notice(one, over=True) for one in over.values())]
