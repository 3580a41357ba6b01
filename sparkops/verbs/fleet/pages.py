"""The pages of a fleet: where they are to be, their keys, what happens to them, and what is in the way."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from sparkops.core.endpoints import api_url
from sparkops.core.facts import Facts, Left
from sparkops.core.fleet.fleet_file import WantedFleet
from sparkops.core.fleet.pages import page_revision
from sparkops.core.fleet.people import with_page_keys
from sparkops.core.inventory import Node
from sparkops.core.revision_changes import in_words
from sparkops.core.situation import Choices
from sparkops.core.stored import SHORT_HASH
from sparkops.errors import Refused
from sparkops.phases.gateway import Gateway, people_content, unknown_page
from sparkops.phases.pages import FleetPage, key_of, volume
from sparkops.phases.parts import DeployedRevision, deployed_companions
from sparkops.session.api_key import digest, new_key
from sparkops.session.session import Session
from sparkops.verbs.fleet.companions import action, asked, gets, made_image, was
from sparkops.verbs.fleet.observe import Observed, started_by


def pages_of(
    fleet: WantedFleet,
    endpoint: str,
    node: Node,
    there: Sequence[DeployedRevision],
    observed: Observed,
    choices: Choices,
    session: Session,
) -> tuple[tuple[FleetPage, ...], tuple[DeployedRevision, ...]]:
    """The pages beside the endpoint at this URL, and those of the fleet (`there`) that end."""
    facts = observed.facts[node.name]
    _refuse_other_fleets(fleet, node, observed.facts)
    revisions = [
        page_revision(one, node, made_image(one.recipe.container, facts), f"{endpoint}/v1") for one in fleet.pages
    ]
    hashes = {one.hash for one in revisions}
    ends = tuple(one for one in there if one.stored.hash not in hashes)
    pages = (
        FleetPage(
            revision=revision,
            facts=facts,
            choices=choices,
            others=tuple(one for one in ends if one.stored.deployment == revision.deployment),
            wanted=wanted,
            ends=ends,
        )
        for wanted, revision in zip(fleet.pages, revisions, strict=True)
    )
    return tuple(asked(one, session) for one in pages), ends


def _refuse_other_fleets(fleet: WantedFleet, node: Node, facts: Mapping[str, Facts]) -> None:
    """Refuse a name that a page of another fleet has on this node: both would write into one volume."""
    names = {one.name: one for one in fleet.pages}
    for one in deployed_companions({node.name: facts[node.name]}):
        if (page := names.get(one.stored.deployment)) and one.stored.is_page and not started_by(one, fleet.name):
            other = next((it.fleet for _, it in one.parts), "") or "another one"
            told = f"{page.where}: {page.name}: a page of this name is of the fleet {other} on {node.name}"
            end = f"sparkops stop --remove {one.stored.hash[:SHORT_HASH]}"
            raise Refused(told, hint=f"give it another name in one of the files, or end that one: `{end}`")


def with_keys(people: str, pages: Iterable[FleetPage], facts: Mapping[str, Facts], session: Session) -> str:
    """The file of people's keys with those of the pages, and without those of pages that the fleet no longer has.

    As it is if it cannot be read.
    """
    wanted = {it.revision.deployment: it.key_digest or unknown_page(it.revision.deployment) for it in pages}
    left = (known.state for known in facts.values() if isinstance(known.state, Left))
    gone = {(name, digest) for one in left for name, digest in one.page_keys.items() if name not in wanted}
    now = session.now()
    try:
        return with_page_keys(people, wanted, gone, now[:10], int(datetime.fromisoformat(now).timestamp()))
    except ValueError:
        return people


def new_keys(front: Gateway, pages: Iterable[FleetPage]) -> dict[str, str]:
    """What the steps name: keys of pages that are still to be made, and the file of people's keys with them."""
    found, people = dict[str, str](), front.people
    for one in (it for it in pages if it.key_digest is None):
        name, key = one.revision.deployment, new_key()
        found[key_of(name).name] = key
        people = people.replace(f'"{unknown_page(name)}"', f'"{digest(key)}"')
    return found | ({people_content(front.people).name: people} if front.new_people else {})


def page_documents(pages: Iterable[FleetPage]) -> Iterator[dict[str, Any]]:
    """What happens to each page: its `action` is none, new, start, move or replace."""
    for one in pages:
        before = next((it.stored for it in sorted(one.others, key=lambda it: not it.runs)), None)
        away = before is not None and before.members[0].name != one.member.name
        yield {
            "name": one.revision.deployment,
            "recipe": one.revision.recipe,
            "node": one.member.name,
            "url": api_url(one.member),
            "user": one.wanted.user,
            "action": action(one, settled=one.runs, otherwise="none"),
            "was": next(was(one), None),
            "gets": gets(one),
            "why": list(in_words(before.data, one.revision.data)) if before else [],
            "left_behind": f"{volume(before.deployment)} on {before.members[0].name}" if before and away else None,
        }
