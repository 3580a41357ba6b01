"""Checks of the models in the node's cache."""

import shlex
from collections.abc import Iterator

from sparkops.checks.check import CannotTell, Here, PlanCheck, Said, asked, fail, good, read, some, warn
from sparkops.core import models, vocabulary
from sparkops.core.facts import Model, Unread
from sparkops.core.needs import NeededModel
from sparkops.core.sizes import bytes_text

IN_IMAGE = "if the image does not contain {0}, copy the model to {0} on every node"
VOCABULARY = "only the vocabulary files, about 5 MB"


@PlanCheck(
    id="model-present",
    title="Each model of the recipe is complete on every node",
    why="Containers never download a model, because they must start again after a power loss even without internet.",
    source="eugr/spark-vllm-docker #262",
    hint="sparkops model fetch MODEL",
    reads=("model", "models"),
).each_node
def present(here: Here) -> Iterator[Said]:
    """The served model, and further ones such as a draft model."""
    if here.engine is None:
        raise CannotTell("this plan runs no engine on this node")
    if not here.s.needed:
        wanted = here.s.revision.model
        raise CannotTell(f"not checked: {wanted} is a path inside the container, in one of the recipe's mounts")
    for need in here.s.in_image:
        yield warn(f"{need.title} is on no node and in no mount of the recipe", IN_IMAGE.format(need.name.model))
    for need in here.s.needed:
        model = asked(need.found(here.facts))
        if problem := trouble(need, model) or _another(here, need):
            yield fail(f"{need.title} {problem}", _how_to_get(here, need), _evidence(model))
        else:
            yield good(evidence=_evidence(model))


def _another(here: Here, need: NeededModel) -> str:
    """How the node's model differs from the head's, else empty: ranks with different weights answer nonsense."""
    pinned = here.s.commit(need)
    model = need.found(here.facts)
    found = model.revision if isinstance(model, Model) else None
    told = need.role == "model" and "revision" in here.s.effective.args
    if told or need.name.local or found == pinned or pinned in (None, need.name.revision):
        return ""
    return f"has revision {str(found)[:12]}, but {str(pinned)[:12]} on the head node"


def trouble(need: NeededModel, model: Model | Unread) -> str:
    """Why the model cannot be loaded from the node; empty if it can."""
    place = "there" if need.name.local else "in the cache"
    if isinstance(model, Unread):
        return f"is not {place} ({model.reason})"
    if not model.present:
        return f"is not {place}"
    if model.whole(need.role):
        return "is in the cache only by its commit, not as the branch main" if need.nameless(model) else ""
    gaps = tuple(dict.fromkeys((*model.lacking(need.role), *model.empty, *model.broken)))
    return f"is not complete; missing or broken: {some(gaps)}" if gaps else "is not complete"


@PlanCheck(
    id="vocabulary-present",
    title="The vocabulary files of gpt-oss's tokenizer exist",
    why="openai-harmony downloads missing vocabulary files. A node without internet then cannot answer chat requests.",
    source="eugr/spark-vllm-docker, its gpt-oss recipes; openai/harmony, README, on use without internet",
    hint="sparkops model fetch MODEL",
    reads=("model",),
).each_node
def vocabulary_there(here: Here) -> Iterator[Said]:
    """Without these files the engine downloads them when it starts, or at the first chat."""
    if here.engine is None:
        raise CannotTell("this plan runs no engine on this node")
    model = read(here.facts.model)
    if not model.present or model.words is None:
        raise CannotTell("the model is missing; sparkops fetches the vocabulary files with the model")
    if vocabulary.wanted(here.s.effective) != vocabulary.USUAL:
        raise CannotTell(f"the recipe does not use vocabulary files in {vocabulary.USUAL}")
    variable, hint = vocabulary.missing(here.s.effective, model.words), _how_to_get(here, here.s.needed[0], VOCABULARY)
    if variable == "TIKTOKEN_ENCODINGS_BASE":
        yield fail(f"{vocabulary.USUAL} lacks {vocabulary.FIRST[variable]}, which {variable} needs", hint)
    elif variable:
        told = f"{vocabulary.USUAL} lacks the vocabulary files: without internet the first chat fails"
        yield warn(told, hint)
    else:
        yield good(evidence=", ".join(model.words))


def lacking_gib(here: Here, need: NeededModel) -> float | None:
    """Size of what the node lacks of the model; None if the size of the model is unknown."""
    size, found, pinned = weights_gib(here, need), need.found(here.facts), here.s.commit(need)
    there = found.bytes / 2**30 if isinstance(found, Model) and found.revision == (pinned or found.revision) else 0.0
    return None if size is None else max(size - there, 0.0)


def _size(here: Here, need: NeededModel) -> str:
    """The size of what the node lacks, and the node that has the whole model, if one does."""
    found = need.found(here.facts)
    have = [one for one in found.files if one.state == "there"] if isinstance(found, Model) else []
    node = _having(here, need)
    if node and (other := need.usable(here.s.facts[node])):
        lacks = sum(one.size_bytes for one in other.files if one not in have)
        return f"{bytes_text(lacks)}, which {node} has"
    size = lacking_gib(here, need)
    return f"about {size:.0f} GiB" if size else ""


def _having(here: Here, need: NeededModel) -> str:
    """The first node that has the whole model, in the commit that the plan names; empty if none has."""
    pinned = here.s.commit(need)
    usable = ((node, need.usable(facts)) for node, facts in here.s.facts.items())
    return next((node for node, model in usable if model and model.revision == (pinned or model.revision)), "")


def weights_gib(here: Here, need: NeededModel) -> float | None:
    """Size of the model on disk, from the recipe or the table of models; None if neither has it."""
    known = models.known(need.name.model)
    said = here.s.effective.recipe.metadata.weights_gib if need.role == "model" else None
    return said or (known.weights_gib if known else None)


def _evidence(model: Model | Unread) -> str:
    if isinstance(model, Unread):
        return model.reason
    size = f"{len(model.files)} files, {bytes_text(model.bytes)}"
    whole = f"{model.folder}, revision {(model.revision or 'none')[:12]}, {size}"
    return whole + (f", half downloaded: {some(model.incomplete)}" if model.incomplete else "")


def _how_to_get(here: Here, need: NeededModel, part: str = "") -> str:
    """The command; `part` says what it gets of a model that is there."""
    if need.name.local:
        fetch = f"sparkops model fetch {shlex.quote(need.name.model)}"
        there = any(need.usable(facts) for facts in here.s.facts.values())
        return fetch if there else f"copy the model to {need.name.model} on one node, then to all: {fetch}"
    what = part or _size(here, need)
    pinned = here.s.revision.model_revision if need.role == "model" else None
    name = f"{need.name.model}@{pinned}" if pinned else str(need.name)
    left_out = "".join(f" --exclude '{glob}'" for glob in need.exclude)
    having = _having(here, need)
    ours = [node.name for node in here.s.placement.nodes]
    limit = f" --limit {','.join((*ours, having))}" if having and having not in ours and not part else ""
    return (f"get it ({what}): " if what else "") + f"sparkops model fetch {shlex.quote(name)}{left_out}{limit}"
