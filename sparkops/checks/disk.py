"""The check of the disk space for what is missing."""

from collections.abc import Iterator, Mapping

from sparkops.checks.check import Check, Here, Said, fail, good, read, warn
from sparkops.checks.model import lacking_gib, trouble
from sparkops.core.facts import NOT_ASKED, Disk, Facts, Unread
from sparkops.core.sizes import GIB_KIB, gib

MARGIN = 1.1
IMAGE_KIB = 30 * GIB_KIB
"""A 25 GB image while it is unpacked."""

LEAST_LEFT, LITTLE_LEFT = 2 * GIB_KIB, 20 * GIB_KIB


@Check(
    id="disk-room",
    title="The disk has space for image and model",
    why=(
        "Docker and the model cache share one disk. If the disk is full, downloads fail near their end, and the "
        "engine cannot write its caches."
    ),
    source="joeynyc/spark-doctor and similar tools (model size plus 10 %); eugr/spark-vllm-docker (image 25 GB)",
    hint=(
        "to free space: sparkops model prune, sparkops image prune; the first also lists the models that no deployment "
        "needs; see Docker's use, on the node: docker system df"
    ),
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
    """Space for the files of models that must be fetched; a partly downloaded file is written again."""
    found = {need: need.found(here.facts) for need in here.s.needed if here.engine is not None}
    lacking = (need for need, model in found.items() if model != NOT_ASKED and trouble(need, model))
    return sum(lacking_gib(here, need) or 0.0 for need in lacking) * GIB_KIB * MARGIN


def _image_kib(here: Here) -> float:
    images = here.facts.images
    if here.engine is None or isinstance(images, Unread):
        return 0.0
    missing = images.get(here.s.revision.image.reference, "not asked") is None
    return IMAGE_KIB if missing else 0.0
