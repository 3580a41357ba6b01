"""Nodes that could not be reached, and why."""

from collections.abc import Iterable

from sparkops.core.facts import Unreadable
from sparkops.core.facts.reading import grouped
from sparkops.core.inventory import Node
from sparkops.core.plan import NodeLost, Result
from sparkops.core.printable import last_lines
from sparkops.errors import Unreachable
from sparkops.remote.connect_errors import Unreached

OTHER_INVENTORY = "use an inventory that has this node: -i FILE"
"""What to do about a deployment with a part on a node that the inventory does not have."""


class AwayNodes(dict[str, NodeLost]):
    """Errors by node, in the order in which they occurred."""

    def among(self, names: Iterable[str]) -> "AwayNodes":
        """The errors of these nodes, in the order of `names`."""
        return AwayNodes({name: self[name] for name in names if name in self})

    @property
    def reasons(self) -> dict[str, str]:
        """The value of `unreachable` in documents."""
        return {name: lost.reason for name, lost in self.items()}

    @property
    def error(self) -> Unreachable | None:
        """The errors of all nodes as one, with the first hint; None without any."""
        if not self:
            return None
        told = grouped((lost.reason, node) for node, lost in self.items())
        message = "; ".join(f"{', '.join(nodes)}: {reason}" for reason, nodes in told.items())
        hints = (unreachable(lost).hint for lost in self.values())
        return Unreachable(message, node=next(iter(self)), hint=next(filter(None, hints), None))


def unreachable(lost: NodeLost) -> Unreachable:
    return Unreachable(f"{lost.node}: {lost.reason}", node=lost.node, hint=getattr(lost, "hint", None))


def unreadable(node: Node, result: Result, error: Unreadable) -> Unreached:
    """After a wrong sudo password, or for example if the login shell prints something."""
    said = last_lines(result.stderr)
    if "incorrect password attempt" in said:
        return Unreached(
            node.name, "sudo", "sudo refused the password", "type the password of the login user on this node"
        )
    hint = f"`{node.ssh} true` must print nothing: check the login shell's files, such as ~/.bashrc"
    return Unreached(
        node.name, "config", f"sparkops could not read the facts of this node: {said or error}", None if said else hint
    )
