"""What `preflight --fix` does about images that nodes lack: what `deploy --setup` would do."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from sparkops.core.image_sources import image_source
from sparkops.core.situation import Situation
from sparkops.errors import SparkopsError
from sparkops.session.session import Session
from sparkops.verbs.deploy.draft import Draft
from sparkops.verbs.deploy.missing_images import get_image, way_to_image

CHECK = "image-present"


@dataclass(frozen=True)
class MissingImage:
    """An image that some of `nodes` lack; `way` says what gets it there."""

    image: str
    nodes: tuple[str, ...]
    way: str


def missing_images(s: Situation, draft: Draft, held: Collection[tuple[str, str]]) -> tuple[MissingImage, ...]:
    """The images that only have to be got: every node could be asked, and none has another build of the name."""
    found = []
    for image, names in draft.images.items():
        prints = [one.fingerprint if (one := s.facts[name].image(image)) else None for name in names]
        lacks = [name for name, print_ in zip(names, prints, strict=True) if print_ is None]
        told = all((name, CHECK) in held for name in lacks)
        had = {*prints} - {None}
        if lacks and told and len(had) <= 1 and (had or image_source(image, draft.effective.recipe).way):
            found.append(MissingImage(image, names, way_to_image(s.facts, draft, image, names)))
    return tuple(found)


def get_images(session: Session, draft: Draft, missing: Iterable[MissingImage]) -> SparkopsError | None:
    """Build, pull and copy them; returns what ended this."""
    try:
        for one in missing:
            for done in get_image(session, draft, one.image, one.nodes):
                session.report.note(done)
    except SparkopsError as error:
        return error
    return None
