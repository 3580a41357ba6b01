"""What a deploy means for clients: what stops serving, and what they have to change."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sparkops.core.endpoints import api_url
from sparkops.core.facts import Facts
from sparkops.core.memory_beyond import one_copy
from sparkops.core.notes import Load
from sparkops.core.revision import Revision
from sparkops.core.situation import Situation
from sparkops.core.stored import Stored
from sparkops.core.turns import rounds, turns

NEW_KEY = "the API key changes{}; print the new one: `sparkops key`"
UNKNOWN_KEY = "the API key may change, as that of {} cannot be read now; print the new one: `sparkops key`"


@dataclass(frozen=True)
class Service:
    """What clients see of a deployment. `context` is in tokens, None if it is the model's own maximum."""

    urls: tuple[str, ...]
    model: str
    context: int | None
    api_key: bool


@dataclass(frozen=True)
class Impact:
    """`replaced` are the deployments that stop; `changes` says what their clients have to change, in words.

    `seconds` is how long the last deploy of this recipe, image and topology took here, once for each copy with
    `in_turns`; None if that is not known. `in_turns`: copies are replaced one after the other.
    """

    service: Service
    replaced: tuple[Stored, ...]
    changes: tuple[str, ...]
    seconds: int | None
    in_turns: bool


def impact(s: Situation) -> Impact:
    replaced = tuple({stored.hash: stored for _, stored, _ in s.replaced}.values())
    after = service(s.revision)
    told = [(one.deployment, text) for one in replaced for text in for_clients(s, one)]
    lines = [f"{name}: {text}" if len(replaced) > 1 else text for name, text in told]
    front = s.revision.fronts[0]
    if s.existing(front) and _new_key(s, front.name):
        lines.append(NEW_KEY.format(""))
    last = (one.seconds for one in loads(s.facts[front.name]) if one == load(s.revision, None))
    seconds = next((one for one in last if one is not None), None)
    return Impact(after, replaced, tuple(lines), seconds and seconds * rounds(s), len(turns(s)) > 1)


def for_clients(s: Situation, before: Stored) -> Iterator[str]:
    """What clients of a deployment see, or have to change, when this one comes in its place."""
    yield from _changes(service(before), service(s.revision))
    yield from _keys(s, before)


def load(revision: Revision, seconds: float | None, beyond_mib: int | None = None) -> Load:
    """What a deploy leaves in the history of its nodes, for the next plan."""
    took = None if seconds is None else round(seconds)
    return Load(revision.recipe, revision.image.reference, revision.topology, took, revision.hash, beyond_mib)


def noted(s: Situation, seconds: float | None, beyond_mib: Mapping[Load, int]) -> Load | None:
    """What the history keeps: memory, and the time of one load of all copies if it is known.

    None if nothing was measured, and it is known that this revision answered.
    """
    beyond = beyond_mib.get(one_copy(load(s.revision, None)))
    if s.loads_all and seconds is not None:
        return load(s.revision, seconds / rounds(s), beyond)
    known = {one.revision for facts in s.facts.values() for one in loads(facts)}
    return None if s.revision.hash in known and beyond is None else load(s.revision, None, beyond)


def loads(known: Facts) -> Iterator[Load]:
    """The loads that the history of a node has, newest first."""
    return (note.load for note in reversed(known.history.notes) if note.load)


def usual_seconds(facts: Mapping[str, Facts], revisions: Iterable[Stored]) -> int | None:
    """How long the last deploys of these revisions took, the longest of them; None if one is not known."""
    known = [one for node in facts.values() for one in reversed([*loads(node)])]
    seconds = {one.revision: one.seconds for one in known if one.seconds is not None}
    found = [seconds.get(stored.hash) for stored in revisions]
    return max((one for one in found if one is not None), default=None) if None not in found else None


def service(revision: Revision | Stored) -> Service:
    args = revision.args if isinstance(revision, Revision) else revision.data.get("args")
    context = args.get("max-model-len") if isinstance(args, Mapping) else None
    return Service(
        tuple(f"{api_url(front)}/v1" for front in revision.fronts),
        revision.served,
        context if isinstance(context, int) and context > 0 else None,
        not revision.without_key,
    )


def told(document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The impact in words, from its JSON document: rows of a label and a text."""
    for one in document["replaces"]:
        yield "replaces", f"{one['deployment']} as {one['topology']} ({str(one['hash'])[:8]})"
    for one in document["ends"]:
        answers = f"; {', '.join(one['urls'])} stops answering" if one["urls"] else ""
        rest = f"{one['deployment']} ({one['hash'][:8]}) on {', '.join(one['nodes'])}"
        yield "ends", f"the rest of {rest}, which an earlier run could not reach{answers}"
    tokens, longer = document.get("context"), document.get("longer_context")
    more = f" (--recipe {longer['recipe']} has {longer['context']})" if longer else ""
    context = f"{tokens} tokens of context{more}" if tokens else "the model's whole context"
    yield "clients", f"{', '.join(document['urls'])}, model {document['model']}, {context}"
    yield from (("they see", text) for text in document["clients"])
    if document["in_turns"]:
        yield "they see", "one copy replaced after the other; the endpoint is down for seconds while its proxy restarts"
    down = document["replaces"] and not document["in_turns"]
    yield "down" if down else "takes", _duration(document["seconds"], each=document["in_turns"])


def _duration(seconds: int | None, *, each: bool) -> str:
    if seconds is None:
        return "not known: these nodes have not deployed this recipe, image and topology before"
    minutes, rest = divmod(seconds, 60)
    spent = f"{minutes} min" if minutes else f"{rest} s"
    as_last = "as the last deploy of this recipe, image and topology took here"
    return f"about {spent}: for each copy {as_last}" if each else f"about {spent}, {as_last}"


def _changes(before: Service, after: Service) -> Iterator[str]:
    """What a client of the one has to change to use the other."""
    if gone := [url for url in before.urls if url not in after.urls]:
        yield f"the address {', '.join(gone)} ends; the new one is {after.urls[0]}"
    if before.model != after.model:
        yield f"the model's name changes from {before.model} to {after.model}"
    if before.context and after.context and after.context < before.context:
        yield f"the context shrinks from {before.context} to {after.context} tokens"
    if after.api_key and not before.api_key:
        yield "requests need an API key now: `sparkops key`"


def _keys(s: Situation, replaced: Stored) -> Iterator[str]:
    """Whether clients of what is replaced need another key: that of another node, or one that is given.

    Where the deploy writes it, a rollback starts with it, too.
    """
    if replaced.without_key or s.revision.without_key:
        return
    silent = [front.name for front in replaced.fronts if front.name not in s.facts]
    fronts = {front.name for front in replaced.fronts if front.name in s.facts and _new_key(s, front.name)}
    if silent:
        yield UNKNOWN_KEY.format(" and ".join(silent))
    if fronts:
        written = any(member.name in fronts for member in s.revision.members if member.port is not None)
        yield NEW_KEY.format(", also for a rollback to it" if written else "")


def _new_key(s: Situation, front: str) -> bool:
    """Whether the endpoint refuses the key that this node has, after the deploy."""
    known = s.facts[front].key_digest
    return bool(known) and not s.revision.without_key and s.key_digest != known
