"""`deploy --setup`: get missing images, then each model; each stage reads the nodes again."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from sparkops.core import vocabulary
from sparkops.core.facts import Facts
from sparkops.core.hub_access import Access
from sparkops.core.model_name import ModelName, model_name
from sparkops.core.needs import NeededModel, models
from sparkops.core.plan import Result
from sparkops.errors import Refused
from sparkops.node_commands import models as commands
from sparkops.node_commands.models import Fetch
from sparkops.session.session import Session
from sparkops.verbs.deploy.compile import judge
from sparkops.verbs.deploy.draft import GOT_BY_SETUP, Draft
from sparkops.verbs.deploy.missing_images import get_image, way_to_image
from sparkops.verbs.deploy.observe import observe
from sparkops.verbs.deploy.options import PlanOptions
from sparkops.verbs.model.copy import ensure_copied
from sparkops.verbs.model.fetch import ensure_fetched


@dataclass(frozen=True)
class Needs:
    """What a deploy needs: images with the nodes that run them, and models of the hub with the nodes that load them."""

    images: Mapping[str, tuple[str, ...]]
    models: tuple[NeededModel, ...]
    read: tuple[str, ...]
    """The models to read from the nodes, in the order of `Session.facts`."""

    engines: tuple[str, ...]
    words: str | None

    @property
    def nodes(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for names in (*self.images.values(), self.engines) for name in names))


def needs(draft: Draft) -> Needs:
    found = tuple(one for one in models(draft.effective) if not one.name.local)
    for one in found:
        model_name(str(one.name))  # refuses a name that the hub cannot have
    engines = draft.images[draft.effective.image]
    return Needs(draft.images, found, draft.models, engines, vocabulary.wanted(draft.effective))


def set_up(options: PlanOptions, draft: Draft, session: Session) -> list[str]:
    """Get what is missing; returns what was got, in words. Refuses first what the nodes cannot serve anyway."""
    session.require(needs(draft).nodes)
    if _lacking(draft, session):
        _judge_the_rest(options, draft, session)
    return get(draft, session, options.access)


def get(draft: Draft, session: Session, access: Access) -> list[str]:
    """Get what is missing; returns what was got, in words."""
    want = needs(draft)
    images = (get_image(session, draft, image, names) for image, names in want.images.items())
    got = (_model(session, want, one, access) for one in want.models)
    return list(chain(*images, *got))


def refuse_before_setup(options: PlanOptions, draft: Draft, session: Session) -> None:
    """Refuse a plan that depends on what `set_up` would get first, and name it."""
    if first := _lacking(draft, session):
        _judge_the_rest(options, draft, session)
        raise Refused(
            "sparkops cannot make a plan while images or models are missing",
            hint=f"deploy with --setup and the same options: it gets them first. Its steps: {'; '.join(first)}",
        )


def _judge_the_rest(options: PlanOptions, draft: Draft, session: Session) -> None:
    """Refuse for what needs no image and no model, such as memory and ports: a download may take hours."""
    _, situation = observe(options, session, draft)
    judge(situation, options.allow | GOT_BY_SETUP)


def _lacking(draft: Draft, session: Session) -> list[str]:
    want = needs(draft)
    facts = session.facts(images=list(want.images), models=want.read)
    session.require(want.nodes)
    return lacking(draft, facts)


def lacking(draft: Draft, facts: Mapping[str, Facts]) -> list[str]:
    """What `get` would do first, in words."""
    want = needs(draft)
    steps = [way for image, names in want.images.items() if (way := way_to_image(facts, draft, image, names))]
    for one in want.models:
        if without := [name for name in want.engines if not one.usable(facts[name])]:
            steps.append(f"fetch {one.name} for {', '.join(without)}")
    return steps


def _model(session: Session, want: Needs, need: NeededModel, access: Access) -> Iterator[str]:
    """Copy a snapshot that some node has, else download; so a newer one is never downloaded unasked."""
    words = want.words if need.role == "model" else None
    facts = session.facts(models=want.read)
    have = {name: model.revision or "" for name in want.engines if (model := need.usable(facts[name]))}
    worded = _worded(session, words, want.engines)
    if len(have) == len(want.engines) == len(worded) and len(set(have.values())) == 1:
        return
    pinned = ModelName(need.name.model, next(iter(have.values()))) if have else need.name
    ready = [name for name in have if name in worded and have[name] == pinned.revision]
    if ready:
        copied = ensure_copied(session, pinned, ready[0], want.engines, words)
    else:
        got = ensure_fetched(session, Fetch(pinned, need.exclude, vocabulary=words), access, names=want.engines)
        yield f"fetched {need.name}, revision {got['revision'][:12]}, on {got['source']}"
        copied = {node["name"]: node["copied"] for node in got["nodes"] if node["copied"]}
    if copied:
        yield f"copied {need.name} to {', '.join(copied)}"


def _worded(session: Session, words: str | None, engines: Sequence[str]) -> list[str]:
    """Return the nodes that have the vocabulary files; all if none are needed."""
    if words is None:
        return list(engines)
    answers = session.ask({name: commands.words(words) for name in engines})
    return [name for name, one in answers.items() if isinstance(one, Result) and one.ok]
