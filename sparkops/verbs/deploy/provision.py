"""`deploy --setup`: get missing images, then the model; each stage reads the nodes again."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from sparkops.checks.image import built
from sparkops.core import vocabulary
from sparkops.core.facts import Facts
from sparkops.core.facts.models import complete
from sparkops.core.hub_access import Access
from sparkops.core.image_sources import ImageSource, copy_newest, image_source
from sparkops.core.model_name import ModelName, model_name
from sparkops.core.plan import Result
from sparkops.core.proxy_image import called
from sparkops.core.recipe import Recipe
from sparkops.errors import Refused
from sparkops.node_commands import models as commands
from sparkops.node_commands.models import Fetch
from sparkops.session.session import Session
from sparkops.verbs.deploy.draft import Draft
from sparkops.verbs.deploy.options import PlanOptions
from sparkops.verbs.image.build import ensure_built
from sparkops.verbs.image.build_inputs import build_for
from sparkops.verbs.image.distribute import ensure_everywhere
from sparkops.verbs.image.node_images import facts_of
from sparkops.verbs.image.pull import ensure_pulled, references
from sparkops.verbs.model.copy import ensure_copied
from sparkops.verbs.model.fetch import ensure_fetched


@dataclass(frozen=True)
class Needs:
    """What a deploy needs: images with the nodes that run them, and the model with the nodes that load it."""

    images: Mapping[str, tuple[str, ...]]
    model: ModelName
    engines: tuple[str, ...]
    recipe: Recipe
    proxy_image: str
    words: str | None

    def pinned(self, image: str) -> str:
        """The image with its digest, where one is given."""
        return self.proxy_image if image == called(self.proxy_image) else image

    @property
    def nodes(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for names in (*self.images.values(), self.engines) for name in names))


def needs(options: PlanOptions, draft: Draft) -> Needs:
    local = draft.effective.model.startswith("/")
    return Needs(
        draft.images,
        ModelName(draft.effective.model) if local else model_name(draft.model),
        draft.images[draft.effective.image],
        draft.effective.recipe,
        draft.placement.proxy_image,
        vocabulary.wanted(draft.effective),
    )


def set_up(options: PlanOptions, draft: Draft, session: Session) -> list[str]:
    """Get what is missing; returns what was got, in words."""
    want = needs(options, draft)
    session.require(want.nodes)
    images = (_image(session, image, names, want) for image, names in want.images.items())
    return list(chain(*images, _model(session, want, options.access)))


def refuse_before_setup(options: PlanOptions, draft: Draft, session: Session) -> None:
    """Refuse a plan that depends on what `set_up` would get first, and name it."""
    if first := _lacking(needs(options, draft), session):
        raise Refused(
            "sparkops cannot make a plan while images or models are missing",
            hint=f"`sparkops deploy --setup` gets them first. Its steps: {'; '.join(first)}",
        )


def _lacking(want: Needs, session: Session) -> list[str]:
    facts = session.facts(images=list(want.images), model=str(want.model))
    session.require(want.nodes)
    steps = []
    for image, names in want.images.items():
        have, all_equal = _have(facts, image, names)
        if not have:
            verb = "pull" if _source(image, want).way == "pull" else "build"
            steps.append(f"{verb} {image} on {names[0]}" + (" and copy it to the others" if len(names) > 1 else ""))
        elif not all_equal:
            steps.append(f"copy {image} from {have[0]}")
    without = [name for name in want.engines if not complete(facts[name].model)]
    if without and not want.model.local:
        steps.append(f"fetch {want.model} for {', '.join(without)}")
    return steps


def _image(session: Session, image: str, names: Sequence[str], want: Needs) -> Iterator[str]:
    facts = session.facts(images=[image])
    have, all_equal = _have(facts, image, names)
    if all_equal:
        return
    if "@" in image:
        for name in (name for name in names if name not in have):
            yield from _got(session, image, name, want)
        return
    if not have:
        yield from _got(session, image, names[0], want)
    copied = ensure_everywhere(session, image, names)
    if copied["changed"]:
        yield f"copied {image} to {', '.join(copy['to'] for copy in copied['copies'])}"


def _got(session: Session, image: str, node: str, want: Needs) -> Iterator[str]:
    """Build or pull the image on the node, and for an image with mods its base first."""
    if _source(image, want).way == "pull":
        ensure_pulled(session, *references(want.pinned(image)), node)
        yield f"pulled {image} on {node}"
        return
    build = build_for(image, want.recipe)
    if build.base and facts_of(session, node, build.base).image(build.base) is None:
        yield from _got(session, build.base, node, want)
    ensure_built(session, build, node)
    yield f"built {image} on {node}"


def _source(image: str, want: Needs) -> ImageSource:
    """Where the missing image comes from; refuses if no command gets it."""
    found = image_source(image, want.recipe)
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


def _model(session: Session, want: Needs, access: Access) -> Iterator[str]:
    """Copy a snapshot that some node has, else download; so a newer one is never downloaded unasked."""
    if want.model.local:
        return
    facts = session.facts(model=str(want.model))
    have = {name: model.revision or "" for name in want.engines if (model := complete(facts[name].model))}
    worded = _worded(session, want)
    if len(have) == len(want.engines) == len(worded) and len(set(have.values())) == 1:
        return
    pinned = ModelName(want.model.model, next(iter(have.values()))) if have else want.model
    ready = [name for name in have if name in worded and have[name] == pinned.revision]
    if ready:
        copied = ensure_copied(session, pinned, ready[0], want.engines, want.words)
    else:
        got = ensure_fetched(session, Fetch(pinned, vocabulary=want.words), access, names=want.engines)
        yield f"fetched {want.model}, revision {got['revision'][:12]}, on {got['source']}"
        copied = {node["name"]: node["copied"] for node in got["nodes"] if node["copied"]}
    if copied:
        yield f"copied {want.model} to {', '.join(copied)}"


def _worded(session: Session, want: Needs) -> list[str]:
    """Return the nodes that have the vocabulary files; all if none are needed."""
    if want.words is None:
        return list(want.engines)
    answers = session.ask({name: commands.words(want.words) for name in want.engines})
    return [name for name, one in answers.items() if isinstance(one, Result) and one.ok]
