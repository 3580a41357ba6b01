"""Starts and stops deployments on demand as the scheduler decides, and holds requests until theirs answers.

What runs is on the nodes: after a restart, and whatever a person started or stopped meanwhile, a look there tells.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Coroutine, Iterable
from typing import Any

import aiohttp

from sparkops.node.gatewayfiles import Followed, told
from sparkops.node.gatewayforward import Passage
from sparkops.node.gatewaykeys import Denied
from sparkops.node.gatewaynodes import (
    FOLDER,
    NOBODY,
    NodeLook,
    Sleeper,
    Sleepers,
    look,
    sleepers,
)
from sparkops.node.gatewayroutes import Server
from sparkops.node.gatewayscheduler import HeldRequest, Resident, Scheduler
from sparkops.node.gatewaystarts import LOOKS, Starts

HALF = 60.0
"""Seconds for which some containers of a deployment may run and some not, as while a person starts or stops it."""

BEAT = 10.0
"""Seconds between two signs of life on a stream that is held."""

SILENT = 3
"""Looks at which one that is awake does not answer, until requests for it wait again."""

MOST_BYTES = 512 << 20
"""Bytes of all requests that wait."""

PATIENCE = 1200.0
"""Seconds for which a request is held, unless it says `Prefer: wait=SECONDS`."""


class Activator:
    """The deployments on demand of the fleet. `held` has the requests that wait, but those that did not want to."""

    def __init__(self) -> None:
        self.file = Followed[Sleepers](f"{FOLDER}/on-demand.json", sleepers, NOBODY, gone_is_empty=True)
        self.scheduler = Scheduler((), {})
        self.held: dict[HeldRequest, asyncio.Future[None]] = {}
        self.bytes: dict[HeldRequest, int] = {}
        self.acting: dict[str, asyncio.Task[None]] = {}
        self.half: dict[str, float] = {}
        self.silent: dict[str, int] = {}
        self.changed = asyncio.Event()

    async def life(self, session: aiohttp.ClientSession) -> None:
        """Look at the nodes again and again; cancelled at the end."""
        self.starts = Starts(session)
        try:
            while True:
                try:
                    if self.file.value.deployments:
                        await self.see()
                        self.step()
                except Exception as error:  # it must go on looking
                    told(f"cannot look at the nodes: {error!r}")
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self.changed.wait(), LOOKS)
                self.changed.clear()
        finally:
            for task in self.acting.values():
                task.cancel()

    def refresh(self) -> None:
        """Take up other deployments on demand. What is done to one that changed ends; a look tells what came of it."""
        before = self.file.value.deployments
        if self.file.refresh():
            found, now = self.file.value, time.monotonic()
            gone = self.scheduler.follow((one.spec for one in found.deployments.values()), found.rooms)
            self.refuse(gone, Denied(503, "this model changes now", 5))
            for name in before:
                if found.deployments.get(name) != before[name]:
                    if (task := self.acting.pop(name, None)) is not None:
                        task.cancel()
                    if name in found.deployments:
                        self.scheduler.unknown(name, now)
            told(f"has {len(found.deployments)} deployments on demand")
            self.changed.set()
        self.step()

    def step(self) -> None:
        """Do what is to do now, and let in who may go on."""
        now = time.monotonic()
        for act in self.scheduler.decide(now):
            one = self.file.value.deployments[act.name]
            told(f"{act.name}: {act.verb}: {act.why}")
            self.begin(act.name, self.start(one) if act.verb == "start" else self.stop(one))
        for waiting in self.scheduler.admitted(now):
            future = self.held.pop(waiting, None)
            if future is None or future.done():
                self.scheduler.done(waiting, now)
            else:
                future.set_result(None)

    def begin(self, name: str, act: Coroutine[Any, Any, None]) -> None:
        task = self.acting[name] = asyncio.create_task(act)

        def ended(task: asyncio.Task[None]) -> None:
            if self.acting.get(name) is task:
                del self.acting[name]
            if not task.cancelled() and (error := task.exception()):
                told(f"an error of the gateway itself, please report it: {error!r}")
            self.step()

        task.add_done_callback(ended)

    # --- requests ---------------------------------------------------------------------------------------------------

    def deployment(self, servers: Iterable[Server]) -> str | None:
        """Whose start these servers' request waits for: of several, that which will be awake first, or was used last.

        None if one of them is always there.
        """
        names, now = {one.deployment for one in servers}, time.monotonic()
        found = [it for name, it in sorted(self.scheduler.residents.items()) if name in names]
        if not found or len(found) < len(names):
            return None
        return min(found, key=lambda it: _turn(it, now)).name

    def unsure(self, servers: Iterable[Server]) -> bool:
        """Whether one of several may be awake, and none is known to be."""
        found = [self.scheduler.residents[name] for name in {one.deployment for one in servers}]
        return len(found) > 1 and any(it.state == "unknown" for it in found) and not any(it.open for it in found)

    def always(self, servers: Iterable[tuple[Server, str]]) -> list[tuple[Server, str]]:
        """Without those that are on demand."""
        return [one for one in servers if one[0].deployment not in self.scheduler.residents]

    def told_of(self, servers: Iterable[Server]) -> dict[str, Any]:
        """What `/v1/models` says of their deployment: whether it is loaded, else the seconds until it may be."""
        name = self.deployment(servers)
        one = self.scheduler.residents[name] if name else None
        if one is None or one.open:
            return {"state": "loaded"}
        return {
            "state": "stopping" if one.draining else one.state,
            "wake_seconds": round(self.scheduler.start_time(one.name, time.monotonic())),
        }

    @contextlib.asynccontextmanager
    async def turn(self, name: str, who: str, one: Passage) -> AsyncIterator[None]:
        """While a request runs on this deployment, from its start on; raises Denied with 429 or 503."""
        now = time.monotonic()
        if sum(self.bytes.values()) + len(one.request.rest) > MOST_BYTES:
            raise Denied(429, "too much waits for models to start", self.scheduler.start_time(name, now))
        waiting = self.scheduler.ask(name, who, now)
        self.bytes[waiting] = len(one.request.rest)
        future = self.held[waiting] = asyncio.get_running_loop().create_future()
        self.step()
        try:
            await self.hold(future, waiting, one)
        except BaseException:
            self.leave(waiting, future)
            raise
        finally:
            one.held = time.monotonic() - now
            del self.bytes[waiting]
        try:
            yield
        finally:
            self.scheduler.done(waiting, time.monotonic())

    async def hold(self, future: asyncio.Future[None], waiting: HeldRequest, one: Passage) -> None:
        patience = _patience(one.client.headers.getall("Prefer", []))
        while True:
            left = waiting.since + (PATIENCE if patience is None else patience) - time.monotonic()
            await asyncio.wait({future}, timeout=max(0.0, min(left, BEAT)))
            if future.done():
                return future.result()
            after = self.scheduler.start_time(waiting.name, time.monotonic())
            if left <= 0:
                if patience is not None:
                    del self.held[waiting]
                    self.scheduler.goes(waiting)
                raise Denied(503, f"{waiting.name} is not awake yet", after)
            if one.request.stream:
                await one.beat(f"{waiting.name} starts, about {after:.0f} s left")

    def leave(self, waiting: HeldRequest, future: asyncio.Future[None]) -> None:
        """Who waited goes away."""
        if future.done() and not future.cancelled() and not future.exception():
            self.scheduler.done(waiting, time.monotonic())
        elif self.held.pop(waiting, None) is not None:
            self.scheduler.leave(waiting)

    def refuse(self, waiting: Iterable[HeldRequest], why: Denied) -> None:
        for one in waiting:
            future = self.held.pop(one, None)
            if future is not None and not future.done():
                future.set_exception(why)

    def activate(self, name: str, who: str) -> None:
        """Start it for somebody who does not wait for an answer; raises Denied with 429 or 503."""
        now = time.monotonic()
        if self.scheduler.residents[name].open:
            self.scheduler.residents[name].used = now
        else:
            self.scheduler.goes(self.scheduler.ask(name, who, now))
        self.step()

    def sleep(self, name: str, who: str) -> None:
        """Stop it before its time; raises Denied with 409 while somebody uses it or it starts."""
        one = self.scheduler.residents[name]
        if one.running or one.waiting:
            raise Denied(409, f"{name} is in use: {one.running} requests run and {len(one.waiting)} wait")
        if one.state in ("unknown", "starting"):
            raise Denied(409, f"{name} is {one.state} now: try again when it is loaded")
        if one.state == "awake":
            told(f"{name}: stop: {who} asks for it")
            one.becomes("stopping", time.monotonic())
            self.begin(name, self.stop(self.file.value.deployments[name]))

    # --- nodes ------------------------------------------------------------------------------------------------------

    async def start(self, one: Sleeper, found: bool = False) -> None:
        """Start its containers, unless they were `found` running, and wait until it answers."""
        name, now = one.spec.name, time.monotonic()
        try:
            if not found:
                await self.starts.begun(one)
            await self.starts.answers(one, found)
        except Exception as trouble:  # whatever it is, who waits must not wait forever
            told(f"{name}: did not start: {trouble}")
            gone = self.scheduler.failed(name, time.monotonic())
            self.refuse(gone, Denied(503, f"{name} did not start: the endpoint's log tells why", 30))
            await self.stop(one)
            return
        took = time.monotonic() - now
        self.scheduler.awake(name, time.monotonic(), None if found else took)
        told(f"{name}: awake after {took:.0f} s")

    async def stop(self, one: Sleeper) -> None:
        name = one.spec.name
        if await self.starts.stopped(one):
            self.scheduler.asleep(name, time.monotonic())
            told(f"{name}: asleep")
        else:
            self.scheduler.unknown(name, time.monotonic())

    async def see(self) -> None:
        """Look at all nodes, and take up what happened without us; what we did meanwhile counts for more."""
        deployments, residents = self.file.value.deployments, self.scheduler.residents
        nodes = {node.name: node for one in deployments.values() for node in one.nodes}
        before = {name: (it, it.state, it.since) for name, it in residents.items() if name not in self.acting}
        looks = await asyncio.gather(*map(look, nodes.values()), return_exceptions=True)
        found = {name: it for name, it in zip(nodes, looks, strict=True) if isinstance(it, NodeLook)}
        awake = [name for name, one in residents.items() if one.state == "awake"]
        silent = [name for name in awake if not await self.starts.healthy(deployments[name])]
        for name, was in before.items():
            now, same = self.scheduler.residents.get(name), self.file.value.deployments.get(name) == deployments[name]
            if now and same and (now, now.state, now.since) == was:
                self.compare(deployments[name], found, now, name not in silent)

    def compare(self, one: Sleeper, found: dict[str, NodeLook], resident: Resident, healthy: bool) -> None:
        """What a look at the nodes says of a deployment that nothing is done to."""
        name, now = one.spec.name, time.monotonic()
        states = [
            found[node.name].containers.get(container, ("gone", 0))[0]
            for node, container in one.containers
            if node.name in found
        ]
        running = states.count("running") + states.count("restarting")
        began = self.half.pop(name, now)
        silent = self.silent.pop(name, 0)
        if not running:
            if resident.state == "unknown" or (states and resident.state != "asleep"):
                told(f"{name}: asleep")
                self.scheduler.asleep(name, now)
        elif running < len(states):
            self.half[name] = began
            if now - began >= HALF:
                told(f"{name}: stop: only some of its containers run")
                resident.becomes("stopping", now)
                self.begin(name, self.stop(one))
        elif resident.state in ("asleep", "unknown") or silent >= SILENT:
            told(f"{name}: {'it does not answer any more' if silent else 'it runs already'}")
            self.scheduler.begun(name, now)
            self.begin(name, self.start(one, found=True))
        elif not healthy:
            self.silent[name] = silent + 1


def _turn(one: Resident, now: float) -> tuple[object, ...]:
    """The smaller, the sooner it answers."""
    waits = min((it.since for it in one.waiting), default=now)
    return not one.open, one.state != "starting", one.not_before > now, waits, -one.used


def _patience(prefer: Iterable[str]) -> float | None:
    """The seconds of `Prefer: wait=SECONDS` (RFC 7240); None where a client does not say."""
    for one in ",".join(prefer).split(","):
        name, _, value = one.strip().partition("=")
        if name.strip().lower() == "wait" and value.strip().isdecimal():
            return float(value)
    return None
