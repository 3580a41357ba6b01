"""Nodes that could not be reached, with why."""

from collections.abc import Iterable

from sparkops.core.plan import NodeLost
from sparkops.errors import Unreachable


class AwayNodes(dict[str, NodeLost]):
    """By name, in the order in which it was found out."""

    def among(self, names: Iterable[str]) -> "AwayNodes":
        """Of these, in their order."""
        return AwayNodes({name: self[name] for name in names if name in self})

    @property
    def reasons(self) -> dict[str, str]:
        """As documents tell it: `unreachable`."""
        return {name: lost.reason for name, lost in self.items()}

    @property
    def error(self) -> Unreachable | None:
        """What the first of them ends the run with."""
        return next((unreachable(lost) for lost in self.values()), None)


def unreachable(lost: NodeLost) -> Unreachable:
    return Unreachable(f"{lost.node}: {lost.reason}", node=lost.node, hint=getattr(lost, "hint", None))
