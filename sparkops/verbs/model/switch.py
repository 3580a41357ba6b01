"""`model activate` and `model sleep`: by hand what requests and idle time do to a deployment on demand."""

from typing import Literal
from urllib.parse import quote

from sparkops.core.endpoints import api_url
from sparkops.core.facts import Facts, Left
from sparkops.core.fleet.written_routes import WrittenRoute, folder
from sparkops.core.plan import Wait
from sparkops.core.situation import state_dir
from sparkops.node_commands.ondemand import by_hand
from sparkops.phases.parts import DeployedRevision
from sparkops.phases.steps import plan, step
from sparkops.report.answer import Answer
from sparkops.report.report import Report
from sparkops.session.execute import execute
from sparkops.session.find_gateway import starts
from sparkops.session.open import reached
from sparkops.verbs.model.options import SwitchOptions

LONGEST = 3600.0
"""Seconds: the endpoint itself ends a start that takes too long, and another one may have to end before."""


def activate(options: SwitchOptions, report: Report) -> Answer:
    """Start it, and wait until it answers; the endpoint stops what must make room."""
    return _asked("activate", options, report)


def sleep(options: SwitchOptions, report: Report) -> Answer:
    """Stop it, unless somebody uses it."""
    return _asked("sleep", options, report)


def _asked(verb: Literal["activate", "sleep"], options: SwitchOptions, report: Report) -> Answer:
    """No lock: the endpoint starts nothing while a run holds the lock of its nodes."""
    with reached(options.where, report) as session:
        facts, name = session.what_runs(), options.deployment
        endpoint, model, route = starts(session, facts, name)
        (front,) = endpoint.stored.fronts
        session.require([front.name])
        url = f"{api_url(front)}/v1/models/{quote(model)}?deployment={quote(name)}"
        asked = by_hand(verb, url, _key(endpoint, facts[front.name], route))
        title = f"{'start' if verb == 'activate' else 'stop'} {name}"
        wait = Wait(asked, stall=LONGEST, deadline=LONGEST)
        execute(plan(f"model {verb}", {title: [step(f"{verb}.{name}", front.name, title, wait)]}), session)
        state = {"activate": "loaded", "sleep": "asleep"}[verb]
        return session.answer({"deployment": name, "gateway": endpoint.stored.deployment, "state": state})


def _key(endpoint: DeployedRevision, facts: Facts, route: WrittenRoute) -> str | None:
    """The file at the endpoint with a deployment's own key that opens the route; None if it needs none."""
    where = folder(endpoint.stored)
    files = facts.state.gateway_keys if isinstance(facts.state, Left) else {}
    mine = (file for (place, file), digest in files.items() if place == where and digest in route.keys)
    return next((f"{state_dir(facts)}/gateways/{where}/keys/{file}" for file in mine), None)
