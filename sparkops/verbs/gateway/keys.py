"""`gateway key add|rotate|revoke|list`: the keys of people at a fleet's endpoint."""

from collections.abc import Callable
from dataclasses import asdict, replace
from datetime import datetime
from typing import Any

from sparkops.core.endpoints import api_url
from sparkops.core.facts import Left
from sparkops.core.fleet import usage
from sparkops.core.fleet.people import People, PersonKey, written
from sparkops.errors import Refused, UsageError
from sparkops.phases.gateway import compile_people
from sparkops.phases.pages import key_path
from sparkops.report.answer import Answer
from sparkops.report.report import Report
from sparkops.session.api_key import digest, new_key
from sparkops.session.execute import execute
from sparkops.session.open import reached
from sparkops.session.session import Session
from sparkops.verbs.gateway.options import NewKeyOptions, PersonOptions, UsageOptions
from sparkops.verbs.gateway.place import GatewayPlace, place_of, text_of_usage

Change = Callable[[GatewayPlace, int], People]
"""What becomes of the keys of an endpoint, at a Unix time."""


def add(options: NewKeyOptions, report: Report) -> Answer:
    """Give a person a key, and return it: it is stored nowhere."""
    key = new_key()
    with reached(options.where, report) as session:
        added = session.now()[:10]
        if options.expires and options.expires < added:
            raise UsageError(f"--expires: {options.expires} is over", hint="the last day is today or later")
        limits = (options.models, options.rpm, options.parallel, options.tokens_per_day, options.expires)

        def change(place: GatewayPlace, now: int) -> People:
            people = place.people
            if options.person in people.keys:
                told = f"{options.person} has a key already, added {people.keys[options.person].added}"
                hint = f"for a new one: `sparkops gateway key rotate {options.person}`; for other limits, revoke it"
                raise Refused(told, hint=hint)
            return people.having(options.person, PersonKey(digest(key), added, *limits), now)

        place = _changed(session, options, change)
        for name in (one for one in options.models or () if one not in place.models):
            session.report.warn(f"the endpoint has no model {name} now; it has {', '.join(place.models)}")
        return session.answer({**_about(place), **_entry(options.person, place.people), "key": key})


def rotate(options: PersonOptions, report: Report) -> Answer:
    """Give a person another key with the same limits."""
    key = new_key()
    with reached(options.where, report) as session:

        def change(place: GatewayPlace, now: int) -> People:
            known = _known(place.people, options.person)
            _refuse_page(place, options.person, known)
            return place.people.having(options.person, replace(known, digest=digest(key)), now)

        place = _changed(session, options, change)
        return session.answer({**_about(place), **_entry(options.person, place.people), "key": key})


def revoke(options: PersonOptions, report: Report) -> Answer:
    """End a person's key."""
    with reached(options.where, report) as session:

        def change(place: GatewayPlace, now: int) -> People:
            _known(place.people, options.person)
            return place.people.without(options.person, now)

        place = _changed(session, options, change)
        return session.answer({**_about(place), "name": options.person, "left": len(place.people.keys)})


def listed(options: UsageOptions, report: Report) -> Answer:
    """All keys of people, with their limits and the tokens of today."""
    with reached(options.where, report) as session:
        place = place_of(session, options.gateway)
        today = session.now()[:10]
        sums = usage.used(text_of_usage(session, place), today)
        rows = [
            {**_entry(name, place.people), "expired": one.expired(today), "tokens_today": usage.tokens(sums, name)}
            for name, one in place.people.keys.items()
        ]
        return session.answer({**_about(place), "keys": rows})


def _changed(session: Session, options: PersonOptions, change: Change) -> GatewayPlace:
    """The endpoint with the keys after a change, which is in force then."""
    first = place_of(session, options.gateway)
    session.lock([first.node])
    place = place_of(session, options.gateway)
    people = change(place, int(datetime.fromisoformat(session.now()).timestamp()))
    session.about(place.name)
    text = written(people)
    execute(compile_people(place.node, place.folder, text), session)
    if not place.found.runs:
        session.report.warn(f"{place.found.title} does not run; start it: `sparkops start {place.name}`")
    return replace(place, text=text)


def _known(people: People, name: str) -> PersonKey:
    """The key of a person; raises UsageError without one."""
    if name not in people.keys:
        hint = f"those with a key: {', '.join(people.keys) or 'nobody'}"
        raise UsageError(f"{name} has no key", hint=hint)
    return people.keys[name]


def _refuse_page(place: GatewayPlace, name: str, key: PersonKey) -> None:
    """Raise Refused for the key of a page, which would not know the new one."""
    state = place.facts.state
    if isinstance(state, Left) and state.page_keys.get(name) == key.digest:
        told = f"this is the key of the page {name}, which would not know another one"
        path = key_path(place.facts, name)
        raise Refused(
            told, hint=f"for a new one: `sparkops stop {name}`, `rm {path}` on {place.node}, `sparkops apply`"
        )


def _about(place: GatewayPlace) -> dict[str, Any]:
    return {"gateway": place.name, "url": f"{api_url(place.found.stored.fronts[0])}/v1"}


def _entry(name: str, people: People) -> dict[str, Any]:
    """A key without its digest."""
    return {"name": name, **{what: value for what, value in asdict(people.keys[name]).items() if what != "digest"}}
