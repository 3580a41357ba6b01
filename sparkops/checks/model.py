"""Checks of the model in the node's cache, and of the disk space for what is missing."""

import shlex
from collections.abc import Iterator, Mapping

from sparkops.checks.check import CannotTell, Check, Here, PlanCheck, Said, asked, fail, good, read, some, warn
from sparkops.core import models, vocabulary
from sparkops.core.facts import NOT_ASKED, Disk, Facts, Model, Unread
from sparkops.core.needs import NeededModel
from sparkops.core.sizes import GIB_KIB, bytes_text, gib

MARGIN = 1.1
IN_IMAGE = "if the image does not contain {0}, copy the model to {0} on every node"
IMAGE_KIB = 30 * GIB_KIB
"""A 25 GB image while it is unpacked."""

LEAST_LEFT, LITTLE_LEFT = 2 * GIB_KIB, 20 * GIB_KIB

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
    gaps = (*model.lacking(need.role), *model.empty, *model.broken)
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
        return f"copy the model to {need.name.model} on every node: sparkops does not download local models"
    size = weights_gib(here, need)
    what = part or (f"about {size:.0f} GiB" if size else "")
    pinned = here.s.revision.model_revision if need.role == "model" else None
    name = f"{need.name.model}@{pinned}" if pinned else str(need.name)
    left_out = "".join(f" --exclude '{glob}'" for glob in need.exclude)
    return f"sparkops model fetch {shlex.quote(name)}{left_out}" + (f" ({what})" if what else "")


@Check(
    id="disk-room",
    title="The disk has space for image and model",
    why=(
        "Docker and the model cache share one disk. If the disk is full, downloads fail near their end, and the "
        "engine cannot write its caches."
    ),
    source="joeynyc/spark-doctor and similar tools (model size plus 10 %); eugr/spark-vllm-docker (image 25 GB)",
    hint="to free space: sparkops image prune, sparkops model prune; see Docker's use, on the node: docker system df",
    severity="fail",
    reads=("disk", "model", "models", "images"),
    deploys=True,
    watch=lambda facts: _disks(facts, {}),
).each_node
def room(here: Here) -> Iterator[Said]:
    yield from _disks(here.facts, {"cache": _model_kib(here), "docker": _image_kib(here)})


def _disks(facts: Facts, needs: Mapping[str, float]) -> Iterator[Said]:
    """Judge each disk by its free space and by what it still needs (KiB by use)."""
    disks = read(facts.disk)
    for mount in dict.fromkeys(one.mount for one in disks.values()):
        uses = {use: one for use, one in disks.items() if one.mount == mount}
        disk = next(iter(uses.values()))
        need = sum(needs.get(use, 0.0) for use in uses)
        yield _judged(disk, need, ", ".join(uses))


def _judged(disk: Disk, need: float, uses: str) -> Said:
    evidence = f"{disk.mount} ({uses}): {gib(disk.free_kib)} of {gib(disk.total_kib)} free"
    if need and disk.free_kib < need:
        return fail(
            f"{gib(disk.free_kib)} free on {disk.mount}, but the missing image or model needs {gib(need)}", "", evidence
        )
    if disk.free_kib < LEAST_LEFT:
        return fail(f"the disk {disk.mount} is full: {gib(disk.free_kib)} free", "", evidence)
    if disk.free_kib < LITTLE_LEFT:
        return warn(f"the disk {disk.mount} is nearly full: {gib(disk.free_kib)} free", "", evidence)
    return good(evidence=evidence)


def _model_kib(here: Here) -> float:
    """Space for the models that must be fetched. A partial download counts whole: its files are written again."""
    found = {need: need.found(here.facts) for need in here.s.needed if here.engine is not None}
    lacking = (need for need, model in found.items() if model != NOT_ASKED and trouble(need, model))
    return sum(weights_gib(here, need) or 0.0 for need in lacking) * GIB_KIB * MARGIN


def _image_kib(here: Here) -> float:
    images = here.facts.images
    if here.engine is None or isinstance(images, Unread):
        return 0.0
    missing = images.get(here.s.revision.image.reference, "not asked") is None
    return IMAGE_KIB if missing else 0.0
