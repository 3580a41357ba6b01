"""Asking all nodes at once; what cannot be asked is a value beside the answers. Changes nothing."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from sparkops.core.plan import Command, NodeLost, Result
from sparkops.remote import Cancel, World


def gather(
    world: World, commands: Mapping[str, Command], spans: dict[str, tuple[float, float]] | None = None
) -> dict[str, Result | NodeLost]:
    """One reading command a node, all at once; the answers in the order of `commands`.

    `spans` is told when each node was asked and had answered, by the world's clock.
    """
    answers: dict[str, Result | NodeLost] = {}

    def ask(node: str, command: Command, cancel: Cancel) -> None:
        sent = world.now()
        try:
            answers[node] = world.send(node, command, cancel)
        except NodeLost as lost:
            answers[node] = lost
        if spans is not None:
            spans[node] = (sent, world.now())

    world.each({node: partial(ask, node, command) for node, command in commands.items()}, world.cancel())
    return {node: answers[node] for node in commands}
