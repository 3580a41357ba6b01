"""The images that a deploy lacks, and getting them, for `deploy --setup` and `preflight --fix`."""

from collections.abc import Iterator, Mapping, Sequence

from sparkops.checks.image import built
from sparkops.core.facts import Facts
from sparkops.core.image_sources import ImageSource, copy_newest, image_source
from sparkops.core.proxy_image import called
from sparkops.errors import Refused
from sparkops.session.session import Session
from sparkops.verbs.deploy.draft import Draft
from sparkops.verbs.image.build import ensure_built
from sparkops.verbs.image.build_inputs import build_for
from sparkops.verbs.image.distribute import ensure_everywhere
from sparkops.verbs.image.node_images import facts_of
from sparkops.verbs.image.pull import ensure_pulled, references


def way_to_image(facts: Mapping[str, Facts], draft: Draft, image: str, names: Sequence[str]) -> str:
    """What `get_image` would do, in words; empty if all these nodes have the image."""
    have, all_equal = _have(facts, image, names)
    if have:
        return "" if all_equal else f"copy {image} from {have[0]}"
    verb = "pull" if _source(draft, image).way == "pull" else "build"
    return f"{verb} {image} on {names[0]}" + (" and copy it to the others" if len(names) > 1 else "")


def get_image(session: Session, draft: Draft, image: str, names: Sequence[str]) -> Iterator[str]:
    """Build, pull or copy an image that some of these nodes lack; yields what was done, in words."""
    facts = session.facts(images=[image])
    have, all_equal = _have(facts, image, names)
    if all_equal:
        return
    if "@" in image:  # Docker saves no digest, so each node pulls
        for name in (name for name in names if name not in have):
            yield from _got(session, draft, image, name)
        return
    if not have:
        yield from _got(session, draft, image, names[0])
    copied = ensure_everywhere(session, image, names)
    if copied["changed"]:
        yield f"copied {image} to {', '.join(copy['to'] for copy in copied['copies'])}"


def _got(session: Session, draft: Draft, image: str, node: str) -> Iterator[str]:
    """Build or pull the image on the node, and for an image with mods its base first."""
    if _source(draft, image).way == "pull":
        pinned = draft.placement.proxy_image
        ensure_pulled(session, *references(pinned if image == called(pinned) else image), node)
        yield f"pulled {image} on {node}"
        return
    build = build_for(image, draft.effective.recipe)
    if build.base and facts_of(session, node, build.base).image(build.base) is None:
        yield from _got(session, draft, build.base, node)
    ensure_built(session, build, node)
    yield f"built {image} on {node}"


def _source(draft: Draft, image: str) -> ImageSource:
    """Where the missing image comes from; refuses if no command gets it."""
    found = image_source(image, draft.effective.recipe)
    if found.way is None:
        raise Refused(f"no node has the image {image}", hint=found.says)
    return found


def _have(facts: Mapping[str, Facts], image: str, names: Sequence[str]) -> tuple[list[str], bool]:
    """Return the nodes that have the image, and whether all have it; refuses if they have different ones."""
    found = {name: one.fingerprint for name in names if (one := facts[name].image(image)) is not None}
    if len(set(found.values())) > 1:
        raise Refused(
            f"the nodes have different images named {image}: {', '.join(found)}",
            hint=f"copy the newest build: `{copy_newest(image, built(facts, image))}`",
        )
    return list(found), len(found) == len(names)
