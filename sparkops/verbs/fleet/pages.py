"""The pages of a fleet: where they are to be, their keys, what happens to them, and what is in the way."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from sparkops.core.endpoints import api_url
from sparkops.core.facts import Facts, Left
from sparkops.core.fleet.fleet_file import WantedPage
from sparkops.core.fleet.pages import page_revision
from sparkops.core.fleet.people import with_pages
from sparkops.core.inventory import Node
from sparkops.core.revision_changes import in_words
from sparkops.core.situation import Choices
from sparkops.phases.gateway import PEOPLE, unknown_page
from sparkops.phases.pages import FleetPage, key_of, volume
from sparkops.phases.parts import DeployedRevision
from sparkops.session.api_key import digest, new_key
from sparkops.session.session import Session
from sparkops.verbs.fleet.companions import action, asked, gets, made_image, was
from sparkops.verbs.fleet.observe import Observed


def pages_of(
    wanted: Sequence[WantedPage],
    endpoint: str,
    node: Node,
    there: Sequence[DeployedRevision],
    observed: Observed,
    choices: Choices,
    session: Session,
) -> tuple[tuple[FleetPage, ...], tuple[DeployedRevision, ...]]:
    """The pages beside the endpoint at this URL, and those of the fleet (`there`) that end."""
    facts = observed.facts[node.name]
    pages = tuple(
        FleetPage(
            revision=revision, facts=facts, choices=choices, others=_others(revision.deployment, revision.hash, there)
        )
        for one in wanted
        for revision in [page_revision(one, node, made_image(one.recipe.container, facts), f"{endpoint}/v1")]
    )
    hashes = {one.revision.hash for one in pages}
    return tuple(asked(one, session) for one in pages), tuple(it for it in there if it.stored.hash not in hashes)


def _others(name: str, own: str, there: Iterable[DeployedRevision]) -> tuple[DeployedRevision, ...]:
    return tuple(one for one in there if one.stored.deployment == name and one.stored.hash != own)


def with_keys(
    people: str,
    pages: Iterable[FleetPage],
    ends: Iterable[DeployedRevision],
    facts: Mapping[str, Facts],
    session: Session,
) -> str:
    """The file of people's keys with those of the pages and without those of pages that end; as it is if unreadable."""
    wanted = {it.revision.deployment: it.key_digest or unknown_page(it.revision.deployment) for it in pages}
    gone = {
        name: known
        for one in ends
        if (name := one.stored.deployment) not in wanted
        for node, _ in one.parts
        if isinstance(left := facts[node].state, Left) and (known := left.page_keys.get(name))
    }
    now = session.now()
    try:
        return with_pages(people, wanted, gone, now[:10], int(datetime.fromisoformat(now).timestamp()))
    except ValueError:
        return people


def new_keys(pages: Iterable[FleetPage], people: str) -> dict[str, str]:
    """What the steps for pages name: keys that are still to be made, and the file of people's keys with them."""
    found: dict[str, str] = {}
    for one in pages:
        if one.key_digest is None:
            name, key = one.revision.deployment, new_key()
            found[key_of(name).name] = key
            people = people.replace(f'"{unknown_page(name)}"', f'"{digest(key)}"')
    return found | ({PEOPLE.name: people} if found else {})


def page_documents(pages: Iterable[FleetPage], wanted: Iterable[WantedPage]) -> Iterator[dict[str, Any]]:
    """What happens to each page: its `action` is none, new, start, move or replace."""
    for one, asked_for in zip(pages, wanted, strict=True):
        before = next((it.stored for it in one.others if it.runs), None)
        moved = before is not None and before.members[0].name != one.member.name
        yield {
            "name": one.revision.deployment,
            "recipe": one.revision.recipe,
            "node": one.member.name,
            "url": api_url(one.member),
            "user": asked_for.recipe.program.user,
            "action": action(one, settled=one.runs, otherwise="none"),
            "was": next(was(one), None),
            "gets": gets(one),
            "why": list(in_words(before.data, one.revision.data)) if before else [],
            "left_behind": f"{volume(before.deployment)} on {before.members[0].name}" if before and moved else None,
        }
