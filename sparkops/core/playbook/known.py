"""The names that a play's texts and conditions may use on each node."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict

from sparkops.core.facts import Facts, plain
from sparkops.core.inventory import Node
from sparkops.core.playbook.names import Names
from sparkops.core.playbook.values import StepsPlay


def known(play: StepsPlay, extra: Names, nodes: Iterable[Node], facts: Mapping[str, Facts]) -> dict[str, Names]:
    """`extra` is what `-e` gives; it wins over the play's vars. `facts` may lack what the play does not use."""
    return {
        node.name: {
            **play.vars,
            **extra,
            "node": asdict(node),
            "facts": plain(facts[node.name]) if node.name in facts else {},
        }
        for node in nodes
    }
