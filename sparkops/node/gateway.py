"""The endpoint of a fleet: checks API keys, holds people to their limits, and hands requests on.

    gateway --port PORT

It follows its files without a restart: `routes.json` and the engines' `keys/` in one folder, `keys.json` of people in
another, where it sums up what they used in `usage.json`.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import time
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
from aiohttp import web

from sparkops.node.gatewayactivator import Activator
from sparkops.node.gatewayasking import LARGEST, Asking, Caller, body_of, key_of
from sparkops.node.gatewayfiles import Followed, told
from sparkops.node.gatewayforward import KEPT, PATHS, TIMEOUT, Passage, forward, prepared
from sparkops.node.gatewaykeys import Denied, Limits, Person, digest_of, people
from sparkops.node.gatewayreplies import listed, refusal
from sparkops.node.gatewayroutes import Chooser, NamedRoute, Server, engine_keys, routes
from sparkops.node.gatewayusage import Usage

ROUTES = os.environ.get("SPARKOPS_ROOT", "") + "/etc/sparkops"
PEOPLE = os.environ.get("SPARKOPS_ROOT", "") + "/var/lib/sparkops-people"
EVERY = 0.5
"""Seconds between two looks at the files."""

SAVES = 4
"""Looks between two writings of what was used."""


class GatewayProgram:
    """`running` are the requests of people that are under way: the task of each, by whom, and whether it must end."""

    def __init__(self) -> None:
        self.routes = Followed[dict[str, NamedRoute]](f"{ROUTES}/routes.json", routes, {})
        self.engines = Followed[dict[str, str]](f"{ROUTES}/keys", engine_keys, {})
        self.people = Followed[dict[str, Person]](f"{PEOPLE}/keys.json", people, {}, gone_is_empty=True)
        self.usage = Usage(f"{PEOPLE}/usage.json")
        self.limits = Limits(self.usage.tokens)
        self.chooser = Chooser()
        self.activator = Activator()
        self.running: dict[asyncio.Task[Any], str] = {}
        self.ended: set[asyncio.Task[Any]] = set()

    async def life(self, app: web.Application) -> AsyncIterator[None]:
        """Follow the files while the server runs."""
        self.look()
        connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=KEPT)
        jar = aiohttp.DummyCookieJar()  # cookies of engines are not handed from one person to another
        async with aiohttp.ClientSession(
            connector=connector, timeout=TIMEOUT, cookie_jar=jar, auto_decompress=False
        ) as session:
            self.session = session
            tasks = [asyncio.create_task(one) for one in (self.follow(), self.activator.life(session))]
            yield
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
        self.save()

    async def follow(self) -> None:
        looks = 0
        while True:
            await asyncio.sleep(EVERY)
            try:
                self.look()
            except Exception as error:  # it must go on looking, or nobody's key ends any more
                told(f"cannot look at its files: {error!r}")
            if (looks := looks + 1) % SAVES == 0:
                self.save()

    def look(self) -> None:
        """Take up what changed; the requests of a key that is no longer there end."""
        self.routes.refresh()
        self.engines.refresh()
        self.activator.refresh()
        if self.people.refresh():
            told(f"has {len(self.people.value)} API keys of people")
            for task, digest in self.running.items():
                if digest not in self.people.value:
                    self.ended.add(task)
                    task.cancel()

    def save(self) -> None:
        try:
            self.usage.save()
        except OSError as error:
            told(f"cannot write usage.json: {error}")

    def caller(self, request: web.Request) -> Caller:
        """Who asks; raises Denied with 401."""
        key = key_of(request)
        digest = digest_of(key)
        person = self.people.value.get(digest)
        if person and person.expired(time.time()):
            raise Denied(401, f"this API key was good until {person.expires}")
        found = Caller(key, digest, person)
        if person is None and not any(map(found.may, self.routes.value.values())):
            raise Denied(401, "wrong or missing API key")
        return found

    async def models(self, request: web.Request) -> web.StreamResponse:
        try:
            caller = self.caller(request)
            routes = [one for _, one in sorted(self.routes.value.items()) if caller.may(one)]
            mine = [(one, self.activator.told_of(one.servers)) for one in routes]
            if (name := request.match_info.get("name")) is None:
                return web.json_response(listed(mine))
            named = [found for found in mine if found[0].name == name]
            if not named:
                raise _unknown(name)
            return web.json_response(listed(named)["data"][0])
        except Denied as denied:
            return refusal(denied, request.path)

    async def by_hand(self, request: web.Request) -> web.StreamResponse:
        """`/v1/models/NAME/activate` and `sleep`: start or stop what is on demand. The answer is the model's entry.

        Two deployments may serve one model: `?deployment=` says which.
        """
        try:
            caller, wanted = self.caller(request), request.query.get("deployment")
            route = self.route(request.match_info["name"], caller)
            servers = [one for one in route.servers if caller.opens(one) and wanted in (None, one.deployment)]
            if not servers:
                raise Denied(404, f"{route.name} is not a model of {wanted}")
            with self.limits.within(caller.person):
                self.switch(request.match_info["verb"], route, self.activator.deployment(servers), caller)
            return web.json_response(listed([(route, self.activator.told_of(servers))])["data"][0])
        except Denied as denied:
            return refusal(denied, request.path)

    def switch(self, verb: str, route: NamedRoute, name: str | None, caller: Caller) -> None:
        """Start or stop this deployment; None: one that is always there."""
        if verb == "activate":
            if name is not None:
                self.activator.activate(name, caller.name)
        elif caller.person:
            raise Denied(403, "a person's key may not end what others use: take the deployment's own key")
        elif name is None:
            raise Denied(409, f"{route.name} is not on demand")
        else:
            self.activator.sleep(name, caller.name)

    async def ask(self, request: web.Request) -> web.StreamResponse:
        """A request for a model."""
        asked = Asking(request)
        try:
            asked.caller = caller = self.caller(request)
            answer = await self.held_to_limits(asked, caller)
            asked.status = answer.status
        except Denied as denied:
            answer, asked.status = refusal(denied, PATHS[request.path]), denied.status
        finally:
            self.note(asked)
        return answer

    def note(self, asked: Asking) -> None:
        """Count a request that ended, and log it."""
        who, one = asked.caller.name if asked.caller else "unknown key", asked.passage
        sums, seconds = one.counted.sums if one else {}, time.monotonic() - asked.began - (one.held if one else 0)
        if one:
            self.usage.add(who, one.served or one.route.name, requests=1, seconds=seconds, **sums)
        elif asked.status == 429:
            self.usage.add(who, "", refused=1)
        tokens = ", ".join(f"{value} {name.replace('_', ' ')}" for name, value in sums.items())
        told(
            f"{who}: {one.route.name if one else 'no model'}: {asked.status}, {tokens or 'no tokens'}, {seconds:.2f} s"
            + (f" after {one.held:.0f} s of waiting" if one and one.held >= 1 else "")
        )

    def passage(self, request: web.Request, caller: Caller, body: dict[str, Any]) -> Passage:
        """Where the request is to go; raises Denied with 400, 403 or 404."""
        name = body.get("model")
        if not isinstance(name, str) or not name:
            raise Denied(400, "name a model: /v1/models lists those that there are", param="model")
        route = self.route(name, caller)
        return Passage(request, route, self.servers(route, caller), prepared(PATHS[request.path], body))

    def route(self, name: str, caller: Caller) -> NamedRoute:
        """What a model name means for who asks; raises Denied with 403 or 404."""
        route = self.routes.value.get(name)
        if route is None:
            raise _unknown(name)
        if not caller.may(route):
            raise Denied(403, f"this API key may not use {name}; /v1/models lists what it may", param="model")
        return route

    def servers(self, route: NamedRoute, caller: Caller) -> list[tuple[Server, str]]:
        """Whom to ask, one after the other, each with the key that it wants."""
        keys = self.engines.value if caller.person else {caller.digest: caller.key}
        order = self.chooser.order(filter(caller.opens, route.servers))
        if not route.served:
            order.sort(key=lambda one: (self.chooser.failed_lately(one), one.deployment))
        return [(one, keys.get(one.opened_by) or "none") for one in order]

    async def answer(self, asked: Asking, caller: Caller) -> web.StreamResponse:
        body = await body_of(asked.request)
        asked.passage = one = self.passage(asked.request, caller, body)
        try:
            return await self.when_awake(one, caller)
        except Denied as denied:
            return await one.end(denied)

    async def when_awake(self, one: Passage, caller: Caller) -> web.StreamResponse:
        """The answer, as soon as a deployment of its model is there."""
        name = self.activator.deployment(server for server, _ in one.servers)
        if name is None:
            one.servers = self.activator.always(one.servers)
            return await forward(self.session, one, self.chooser)
        if self.activator.unsure(server for server, _ in one.servers):
            raise Denied(503, "the endpoint looks which models are loaded", 5)
        async with self.activator.turn(name, caller.name, one):
            caller = self.caller(one.client)  # routes and rights may have changed meanwhile
            route = self.routes.value.get(one.route.name)
            if route is None or not caller.may(route):
                raise Denied(403, f"this API key may not use {one.route.name} any more", param="model")
            one.servers = [it for it in self.servers(route, caller) if it[0].deployment == name]
            return await forward(self.session, one, self.chooser)

    async def held_to_limits(self, asked: Asking, caller: Caller) -> web.StreamResponse:
        """The answer; a request of a person counts from its first byte, and ends early when their key does."""
        person, task = caller.person, asyncio.current_task()
        if person is None or task is None:
            return await self.answer(asked, caller)
        with self.limits.within(person):
            self.running[task] = caller.digest
            try:
                return await self.answer(asked, caller)
            except asyncio.CancelledError:
                if task not in self.ended:
                    raise  # the client went away
                revoked = Denied(401, "this API key was revoked")
                if asked.passage is None:
                    raise revoked from None
                return await asked.passage.end(revoked)
            finally:
                del self.running[task]
                self.ended.discard(task)


def _unknown(name: str) -> Denied:
    return Denied(404, f"there is no model {name}; /v1/models lists those that there are", param="model")


async def alive(_: web.Request) -> web.Response:
    return web.json_response({"status": "ok"})


@web.middleware
async def in_shape(request: web.Request, handler: Any) -> web.StreamResponse:
    """Errors of the server itself in the shape that clients read."""
    try:
        answer: web.StreamResponse = await handler(request)
        return answer
    except web.HTTPException as error:
        return refusal(Denied(error.status, f"{request.method} {request.path}: {error.reason}"), request.path)
    except (OSError, aiohttp.ClientError):
        raise  # the client went away
    except Exception as error:
        told(f"an error of the gateway itself, please report it: {error!r}")
        return refusal(Denied(500, "an error of the gateway itself; its log says more"), request.path)


def application() -> web.Application:
    gateway, app = GatewayProgram(), web.Application(client_max_size=LARGEST, middlewares=[in_shape])
    app.cleanup_ctx.append(gateway.life)
    for path in ("/health", "/health/liveliness", "/health/readiness"):
        app.router.add_get(path, alive)
    for path in ("/v1/models", "/models", "/v1/models/{name:.+}"):
        app.router.add_get(path, gateway.models)
    app.router.add_post("/v1/models/{name:.+}/{verb:activate|sleep}", gateway.by_hand)
    for path in PATHS:
        app.router.add_post(path, gateway.ask)
    return app


if __name__ == "__main__":
    options = argparse.ArgumentParser()
    options.add_argument("--port", type=int, required=True)
    web.run_app(
        application(),
        host="0.0.0.0",
        port=options.parse_args().port,
        print=None,
        access_log=None,
        handler_cancellation=True,  # who goes away frees the engine
        shutdown_timeout=20,
    )
