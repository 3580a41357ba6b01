"""Start and stop the containers of a deployment on demand, and wait until it answers."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable

import aiohttp

from sparkops.node.gatewayfiles import told
from sparkops.node.gatewaynodes import NodeLook, NodeTrouble, Sleeper, SshNode, ask, look

LOOKS = 10.0
"""Seconds between two looks at the nodes."""

MEMORY_WAIT = 60.0
"""Seconds in which memory must come free once all that was in the way has stopped."""

LONGEST_START = 1800.0
"""Seconds."""

BROKEN = 2
"""Restarts after which a start has failed: the entry script goes on, but somebody waits for an answer."""

LONGEST_STOP = 300.0
"""Seconds."""


class Starts:
    """What it takes to start and to stop one."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self.session = session

    async def begun(self, one: Sleeper) -> None:
        """Start its containers, as soon as there is memory and no run of sparkops changes its nodes."""
        left = list(one.containers)
        while left:
            await self.memory(one, {node for node, _ in left})
            ends = await asyncio.gather(*(ask(node, "start", it) for node, it in left), return_exceptions=True)
            troubles = [(it, end) for it, end in zip(left, ends, strict=True) if isinstance(end, BaseException)]
            left = [it for it, end in troubles if isinstance(end, NodeTrouble) and end.busy]
            if trouble := next((end for it, end in troubles if it not in left), None):
                raise trouble
            await asyncio.sleep(5 if left else 0)

    async def memory(self, one: Sleeper, nodes: set[SshNode]) -> None:
        """Wait until these nodes have the memory that it needs, and no run of sparkops changes them."""
        until, why = time.monotonic() + MEMORY_WAIT, ""
        while True:
            looks = await asyncio.gather(*map(look, nodes), return_exceptions=True)
            if any(isinstance(it, NodeLook) and it.busy for it in looks):
                until = time.monotonic() + MEMORY_WAIT
            elif not (why := next(filter(None, map(_lacks(one), nodes, looks)), "")):
                return
            if time.monotonic() > until:
                raise NodeTrouble(why)
            await asyncio.sleep(2)

    async def answers(self, one: Sleeper, found: bool) -> None:
        """Wait until one of its servers answers; raises NodeTrouble once that cannot be.

        A node that does not answer for a time may be loading: only what one says of a container ends the start.
        """
        until, next_look, before = time.monotonic() + LONGEST_START, time.monotonic(), dict[str, int]()
        while not await self.healthy(one):
            if time.monotonic() > until:
                raise NodeTrouble(f"it does not answer after {LONGEST_START / 60:.0f} minutes")
            if time.monotonic() > next_look:
                next_look = time.monotonic() + LOOKS
                for name, (state, restarts) in (await self.containers(one)).items():
                    again = restarts - (before.setdefault(name, restarts) if found else 0)  # a start sets them to 0
                    if state in ("exited", "dead", "gone") or again >= BROKEN:
                        raise NodeTrouble(f"{name} is {state} after {again} restarts")
            await asyncio.sleep(1)

    async def containers(self, one: Sleeper) -> dict[str, tuple[str, int]]:
        """State and restarts of its containers on the nodes that answer."""
        looks = await asyncio.gather(*map(look, one.nodes), return_exceptions=True)
        found = {node: it for node, it in zip(one.nodes, looks, strict=True) if isinstance(it, NodeLook)}
        return {name: found[at].containers.get(name, ("gone", 0)) for at, name in one.containers if at in found}

    async def healthy(self, one: Sleeper) -> bool:
        for url in one.health:
            with contextlib.suppress(aiohttp.ClientError, TimeoutError, OSError):
                async with self.session.get(url, timeout=aiohttp.ClientTimeout(total=5)) as answer:
                    if answer.status == 200:
                        return True
        return False

    async def stopped(self, one: Sleeper) -> bool:
        """Stop its containers, until all do that are in reach; whether that is so in the end."""
        name, left, said, until = one.spec.name, list(one.containers), "", time.monotonic() + LONGEST_STOP
        while True:
            ends = await asyncio.gather(*(ask(node, "stop", it) for node, it in left), return_exceptions=True)
            troubles = [(it, end) for it, end in zip(left, ends, strict=True) if isinstance(end, BaseException)]
            left = [it for it, end in troubles if not (isinstance(end, NodeTrouble) and end.hopeless)]
            trouble = "; ".join(str(end) for _, end in troubles)
            if trouble not in ("", said):
                told(f"{name}: {'does not stop' if left else 'may not have stopped everywhere'}: {trouble}")
                said = trouble
            if not left or time.monotonic() > until:
                return not left
            await asyncio.sleep(5)


def _lacks(one: Sleeper) -> Callable[[SshNode, NodeLook | BaseException], str]:
    """What a node lacks for its start, in words; empty if nothing."""

    def of(node: SshNode, found: NodeLook | BaseException) -> str:
        if isinstance(found, BaseException):
            return str(found)
        has, need = found.memory, one.requests[node.name]
        return f"{node.name} has {has >> 20} GiB available of the {need >> 20} that it needs" if has < need else ""

    return of
