"""Asking all nodes at once; what cannot be asked is a value beside the answers. Changes nothing."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from sparkops.core.plan import Command, NodeLost, Result
from sparkops.remote import Cancel, World


def gather(world: World, commands: Mapping[str, Command]) -> dict[str, Result | NodeLost]:
    """One reading command a node, all at once; the answers in the order of `commands`."""
    answers: dict[str, Result | NodeLost] = {}

    def ask(node: str, command: Command, cancel: Cancel) -> None:
        try:
            answers[node] = world.send(node, command, cancel)
        except NodeLost as lost:
            answers[node] = lost

    world.each({node: partial(ask, node, command) for node, command in commands.items()}, world.cancel())
    return {node: answers[node] for node in commands}
