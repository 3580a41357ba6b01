"""Ask all nodes at once; a lost node is a value beside the answers. Changes nothing."""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from sparkops.core.plan import Command, NodeLost, Result
from sparkops.remote import Cancel, World


def connect(world: World, nodes: Iterable[str]) -> dict[str, NodeLost]:
    """Connect to all nodes at once; the errors of those that cannot be reached, by name."""
    lost: dict[str, NodeLost] = {}

    def reach(node: str, cancel: Cancel) -> None:
        try:
            world.reach(node, cancel)
        except NodeLost as error:
            lost[node] = error

    world.each({node: partial(reach, node) for node in nodes}, world.cancel())
    return lost


def gather(
    world: World, commands: Mapping[str, Command], spans: dict[str, tuple[float, float]] | None = None
) -> dict[str, Result | NodeLost]:
    """Send one reading command to each node, all at once; the answers in the order of `commands`.

    `spans` receives, by node, when it was asked and when it had answered, on the world's clock.
    """
    if not commands:
        return {}
    answers: dict[str, Result | NodeLost] = {}

    def ask(node: str, command: Command, cancel: Cancel) -> None:
        try:
            world.reach(node, cancel)
            sent = world.now()
            answers[node] = world.send(node, command, cancel)
            if spans is not None:
                spans[node] = (sent, world.now())
        except NodeLost as lost:
            answers[node] = lost

    world.each({node: partial(ask, node, command) for node, command in commands.items()}, world.cancel())
    return {node: answers[node] for node in commands}


def in_lanes(world: World, lanes: Mapping[str, Sequence[tuple[str, Command]]]) -> dict[str, list[Result | NodeLost]]:
    """Send the (node, command) pairs of all lanes at once, those of one lane in turn; the answers by lane."""
    answers: dict[str, list[Result | NodeLost]] = {lane: [] for lane in lanes}

    def ask(lane: str, cancel: Cancel) -> None:
        for node, command in lanes[lane]:
            try:
                world.reach(node, cancel)
                answers[lane].append(world.send(node, command, cancel))
            except NodeLost as lost:
                answers[lane].append(lost)

    world.each({lane: partial(ask, lane) for lane in lanes}, world.cancel())
    return answers
