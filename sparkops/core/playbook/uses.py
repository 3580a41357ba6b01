"""What a play needs: facts, phases, and the names in its texts and conditions with their values on each node."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict

from sparkops.core.facts import Facts, plain
from sparkops.core.inventory import Node
from sparkops.core.playbook.names import Names, places
from sparkops.core.playbook.values import CopyFile, Playbook, PlayStep, RebootNode, RunCommand, RunPhase, StepsPlay

PHASES_TAKE = ("topology", "recipe", "name")
"""Names that set up a play with phases of deploy."""


def uses_facts(play: StepsPlay) -> bool:
    """Whether the play needs the nodes' facts."""
    return any(isinstance(step.action, RebootNode) or "facts" in _roots(step) for step in play.steps)


def uses_phases(play: StepsPlay) -> bool:
    return any(isinstance(step.action, RunPhase) for step in play.steps)


def names(book: Playbook) -> Iterator[str]:
    """Every name that `-e` may set; any other is a mistake."""
    for play in book.plays:
        if isinstance(play, StepsPlay):
            yield from play.vars
            yield from (str(path[0]) for path in places(play.hosts or ""))
            yield from (root for step in play.steps for root in _roots(step))
            yield from PHASES_TAKE if uses_phases(play) else ()
        else:
            values = (one for value in play.options.values() for one in (value if isinstance(value, list) else [value]))
            yield from (str(path[0]) for value in values for path in places(str(value)))


def known(play: StepsPlay, extra: Names, nodes: Iterable[Node], facts: Mapping[str, Facts]) -> dict[str, Names]:
    """By node, the names that texts and conditions of the play may use.

    `extra` is what `-e` gives; it wins over the play's vars. `facts` may lack what the play does not use.
    """
    return {
        node.name: {
            **play.vars,
            **extra,
            "node": asdict(node),
            "facts": plain(facts[node.name]) if node.name in facts else {},
        }
        for node in nodes
    }


def _roots(step: PlayStep) -> Iterator[str]:
    if step.when is not None:
        yield from (name.root for name in step.when.names())
    for text in _texts(step):
        yield from (str(path[0]) for path in places(text))


def _texts(step: PlayStep) -> Iterator[str]:
    yield from (*step.unless, *step.until, *step.undo, *step.environment.values(), step.message or "")
    if isinstance(step.action, RunCommand):
        yield from step.action.words
    if isinstance(step.action, CopyFile):
        yield from (step.action.dest, "" if step.action.source else step.action.content)
