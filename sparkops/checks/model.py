"""Checks of the model in the node's cache, and of the disk space for what is missing."""

from collections.abc import Iterator

from sparkops.checks.check import CannotTell, Check, Here, PlanCheck, Said, asked, fail, good, read, some, warn
from sparkops.core import models, vocabulary
from sparkops.core.facts import NOT_ASKED, Disk, Model, Unread
from sparkops.core.sizes import GIB_KIB, bytes_text, gib

MARGIN = 1.1
IMAGE_KIB = 30 * GIB_KIB
"""A 25 GB image while it is unpacked."""

LEAST_LEFT, LITTLE_LEFT = 2 * GIB_KIB, 20 * GIB_KIB

VOCABULARY = "only the vocabulary files, about 5 MB"


@PlanCheck(
    id="model-present",
    title="The model is complete on every node",
    why="Containers never download a model, because they must start again after a power loss even without internet.",
    source="eugr/spark-vllm-docker #262",
    hint="sparkops model fetch MODEL",
    reads=("model",),
).each_node
def present(here: Here) -> Iterator[Said]:
    if here.engine is None:
        raise CannotTell("this plan runs no engine on this node")
    wanted = here.s.revision.model
    if wanted.startswith("/") and not here.s.local_model:
        raise CannotTell(f"not checked: {wanted} is a path inside the container, in one of the recipe's mounts")
    model = asked(here.facts.model)
    if problem := trouble(model, "there" if here.s.local_model else "in the cache") or _another(here, model):
        yield fail(f"the model {wanted} {problem}", _how_to_get(here), _evidence(model))
    else:
        yield good(evidence=_evidence(model))


def _another(here: Here, model: Model | Unread) -> str:
    """How the node's model differs from the head's, else empty: ranks with different weights answer nonsense."""
    if here.s.local_model:
        return ""
    pinned, asked_for = here.s.revision.model_revision, here.s.effective.recipe.revision
    found = model.revision if isinstance(model, Model) else None
    told = "revision" in here.s.effective.args or pinned in (None, asked_for)
    return "" if told or found == pinned else f"has revision {str(found)[:12]}, but {str(pinned)[:12]} on the head node"


def trouble(model: Model | Unread, place: str = "in the cache") -> str:
    """Why the model cannot be served from there; empty if it can."""
    if isinstance(model, Unread):
        return f"is not {place} ({model.reason})"
    if not model.present:
        return f"is not {place}"
    if model.complete:
        return ""
    gaps = (*model.missing, *model.empty, *model.broken)
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
    variable = vocabulary.missing(here.s.effective, model.words)
    if variable == "TIKTOKEN_ENCODINGS_BASE":
        yield fail(
            f"{vocabulary.USUAL} lacks {vocabulary.FIRST[variable]}, which {variable} needs",
            _how_to_get(here, VOCABULARY),
        )
    elif variable:
        told = f"{vocabulary.USUAL} lacks the vocabulary files: without internet the first chat fails"
        yield warn(told, _how_to_get(here, VOCABULARY))
    else:
        yield good(evidence=", ".join(model.words))


def weights_gib(here: Here) -> float | None:
    """Size of the model on disk, from the recipe or the table of models; None if neither has it."""
    known = models.known(here.s.revision.model)
    return here.s.effective.recipe.metadata.weights_gib or (known.weights_gib if known else None)


def _evidence(model: Model | Unread) -> str:
    if isinstance(model, Unread):
        return model.reason
    size = f"{len(model.files)} files, {bytes_text(model.bytes)}"
    whole = f"{model.folder}, revision {(model.revision or 'none')[:12]}, {size}"
    return whole + (f", half downloaded: {some(model.incomplete)}" if model.incomplete else "")


def _how_to_get(here: Here, part: str = "") -> str:
    """The command; `part` says what it gets of a model that is there."""
    if here.s.local_model:
        return f"copy the model to {here.s.local_model} on every node: sparkops does not download local models"
    size = weights_gib(here)
    what = part or (f"about {size:.0f} GiB" if size else "")
    revision = here.s.revision.model_revision
    name = f"{here.s.revision.model}@{revision}" if revision else here.s.revision.model
    return f"sparkops model fetch {name}" + (f" ({what})" if what else "")


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
    reads=("disk", "model", "images"),
    deploys=True,
).each_node
def room(here: Here) -> Iterator[Said]:
    disks = read(here.facts.disk)
    needs = {"cache": _model_kib(here), "docker": _image_kib(here)}
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
    """Space for the model if it must be fetched. A partial download counts whole: its files are written again."""
    model, size = here.facts.model, weights_gib(here)
    if here.engine is None or size is None or model == NOT_ASKED or not trouble(model):
        return 0.0
    return size * GIB_KIB * MARGIN


def _image_kib(here: Here) -> float:
    images = here.facts.images
    if here.engine is None or isinstance(images, Unread):
        return 0.0
    missing = images.get(here.s.revision.image.reference, "not asked") is None
    return IMAGE_KIB if missing else 0.0
