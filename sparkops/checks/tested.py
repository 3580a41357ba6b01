"""The check that compares nodes with the software that a recipe was tested with."""

import re
from collections.abc import Iterator

from sparkops.checks.check import CannotTell, Check, Here, Said, good, warn
from sparkops.checks.driver import UPGRADE, numbers, version_of
from sparkops.core.facts import known
from sparkops.core.images import Software

UPDATE = f"on the node, when no model serves: {UPGRADE}"
IMAGE = "the image is older than the recipe; pull it again, or build it again"
SERVES = "nothing, if the model serves without errors"


@Check(
    id="tested-stack",
    title="The node has the software that the recipe was tested with, or newer",
    why=(
        "A recipe's flags and published results hold for the driver, the system and the vLLM that its author tested. "
        "With older ones a flag may be missing; with other ones the results may differ."
    ),
    source="NVIDIA/local-ai-inference-recipes, validation.tested_stack and backend_version of its recipes",
    hint=SERVES,
    reads=("nvidia-smi", "driver", "os-release", "images"),
    placed=True,
    deploys=True,
).each_node
def tested_stack(here: Here) -> Iterator[Said]:
    """One result for each part that the recipe names and that could be read."""
    tested = here.s.effective.recipe.metadata.tested_with
    if tested is None or here.engine is None:
        raise CannotTell("the recipe does not say with which software it was tested")
    system = known(here.facts.os_release, {}).get("PRETTY_NAME", "")
    image = here.facts.image(here.s.revision.image.reference)
    software = (image.software if image else None) or Software()
    parts = (
        ("driver", tested.driver, version_of(here.facts) or "", UPDATE),
        ("", tested.os, system, UPDATE),
        ("CUDA", tested.cuda, _cuda(software.torch), IMAGE),
        ("vLLM", tested.vllm, software.vllm, IMAGE),
    )
    compared = [part for part in parts if part[1] and part[2]]
    if not compared:
        raise CannotTell("nothing of what the recipe was tested with could be read")
    for what, wanted, had, cure in compared:
        yield from _compared(f"{what} {wanted}".strip(), f"{what} {had}".strip(), cure)


def _compared(wanted: str, had: str, cure: str) -> Iterator[Said]:
    """What the author tested and what the node has, such as `driver 580.159.03`; a newer version is good as well."""
    said, was, now = f"tested with {wanted}; here is {had}", _numbers(wanted), _numbers(had)
    if _same(wanted) == _same(had):
        yield good(evidence=had)
    elif _name(wanted) != _name(had):
        yield warn(f"{said}, another system", SERVES, had)
    elif now < was:
        yield warn(f"{said}, which is older", cure, had)
    elif now[:1] != was[:1]:
        yield warn(f"{said}, which is of another branch", SERVES, had)
    else:
        yield good(f"{said}, which is {'newer' if now > was else 'another build'}", had)


def _cuda(torch: str) -> str:
    """The version of CUDA that PyTorch in the image was built for: `2.11.0+cu130` is 13.0."""
    found = re.search(r"\+cu([0-9]+)([0-9])$", torch)
    return f"{found[1]}.{found[2]}" if found else ""


def _same(text: str) -> str:
    """A version without what does not distinguish releases: a leading v, and the build after a plus sign."""
    return re.sub(r"(?<=\s)v(?=[0-9])|\+.*", "", text)


def _name(text: str) -> str:
    """The words before the version."""
    return re.sub(r"\s*v?[0-9].*", "", text)


def _numbers(text: str) -> tuple[int, ...]:
    found = re.search(r"[0-9].*", text)
    return numbers(found[0]) if found else ()
