"""Checks of the images that a plan runs: they exist, are the same on all nodes, and fit the plan."""

from collections.abc import Iterator, Mapping

from sparkops.checks.check import CannotTell, Check, Here, PlanCheck, Said, apart, asked, fail, good, read, some, warn
from sparkops.checks.docker import docker_problem, need_docker
from sparkops.core import images, mods
from sparkops.core.facts import Facts, Image, Unread, known
from sparkops.core.facts.reading import grouped
from sparkops.core.image_sources import copy_newest, image_source
from sparkops.core.proxy_image import called, problem
from sparkops.core.situation import Situation
from sparkops.core.sizes import gb
from sparkops.core.topology import CLUSTERS, COPIES, SEVERAL

ARCHITECTURES = {"aarch64": "arm64", "x86_64": "amd64"}
"""Architectures as `docker info` names them, and as images do."""


@PlanCheck(
    id="image-present",
    title="The image is on every node",
    why="It takes up to an hour to build a 25 GB image, so deploy gets missing images only with --setup.",
    source="eugr/spark-vllm-docker, Dockerfile.mxfp4",
    hint="let deploy build or pull the image, and copy it to all nodes: sparkops deploy --setup",
    reads=("images", "docker-version", "docker-ps"),
    fixable=True,
    final=True,
).each_node
def present(here: Here) -> Iterator[Said]:
    need_docker(here.facts)
    asked(here.facts.images)
    for reference in _references(here):
        found = read(here.facts.images).get(reference)
        if isinstance(found, Unread):
            yield fail(f"the image {reference} cannot be inspected: {found.reason}")
        elif found is None:
            yield fail(f"the image {reference}{_with_mods(here, reference)} is missing", _hint(here, reference))
        else:
            yield good(evidence=f"{reference} {found.fingerprint[:12]}, {gb(found.size_bytes)}")


@PlanCheck(
    id="image-platform",
    title="The image is built for arm64",
    why="An image for a PC (amd64) fails on a GB10 with `exec format error`.",
    source="docker image inspect: Architecture",
    hint="pull or build the image on a node",
    reads=("images", "docker-version", "docker-ps", "docker-info"),
).each_node
def platform(here: Here) -> Iterator[Said]:
    """Compare with the node's Docker engine, which would run the image."""
    info = known(here.facts.docker_info, None)
    engine = ARCHITECTURES.get(info.architecture, info.architecture) if info is not None else ""
    for reference in _references(here):
        found = _there(here, reference)
        if engine and found.architecture not in ("", engine):
            told = f"the image {reference} is built for {found.architecture}, but this node needs {engine}"
            yield fail(told, how_to_get(here, reference))


@Check(
    id="image-same",
    title="The image is the same on all nodes",
    why=(
        "If the nodes of a cluster have different builds, NCCL hangs. sparkops compares layers, configuration and "
        "platform, because the same image may have another ID in another Docker image store."
    ),
    source="eugr/spark-vllm-docker #327",
    hint="copy the newest build to all nodes with `sparkops image distribute`",
    severity="fail",
    reads=("images",),
    topologies=SEVERAL,
    deploys=True,
).all_nodes
def same(s: Situation) -> Iterator[Said]:
    yield from _same(s, s.revision.image.reference, [member.name for member in s.revision.engines])
    if s.revision.proxy_image:
        names = [member.name for member in s.revision.proxies]
        yield from _same(s, s.revision.proxy_image.reference, names, severe=False)


def _same(s: Situation, reference: str, names: list[str], severe: bool = True) -> Iterator[Said]:
    found = {name: image for name in dict.fromkeys(names) if (image := s.facts[name].image(reference))}
    prints = grouped((image.fingerprint, name) for name, image in found.items())
    if len(prints) > 1:
        most_first = sorted(prints.items(), key=lambda group: -len(group[1]))
        told = "; ".join(f"{digest[:12]} on {some(owners)}" for digest, owners in most_first)
        hint = f"copy the newest build to all nodes: {copy_newest(reference, built(s.facts, reference))}"
        whole = apart({digest[:12]: owners for digest, owners in prints.items()})
        yield (fail if severe else warn)(f"{reference} is not the same image on all nodes: {told}", hint, whole)


@PlanCheck(
    id="proxy-version",
    title="The proxy is no version of LiteLLM that steals credentials",
    why="LiteLLM 1.82.7 and 1.82.8 of 2026-03-24 contained code that sent keys and passwords to strangers.",
    source="BerriAI/litellm #24512, #24518",
    hint="set `proxy_image` in the inventory to another version, or remove it to use the default; then rotate all keys",
    reads=("images", "docker-version", "docker-ps"),
    topologies=COPIES,
).each_node
def proxy_version(here: Here) -> Iterator[Said]:
    """By the image's tag and label. The label of an image with a moving tag is the only sign of its version."""
    for reference in _proxy(here):
        if told := problem(reference, _there(here, reference).labels):
            yield fail(f"{reference}: {told}")


@PlanCheck(
    id="image-ray",
    title="The image has Ray if the executor is Ray",
    why="NGC and upstream vLLM images have no Ray, so the container on the head node exits at once.",
    source="NVIDIA/dgx-spark-playbooks: `pip install ray[default]` in nvcr.io/nvidia/vllm:26.05-py3",
    hint="use vLLM's own executor: --executor mp",
    reads=("images", "docker-version", "docker-ps"),
    topologies=CLUSTERS,
).each_node
def ray(here: Here) -> Iterator[Said]:
    """The packages of the image decide; where they could not be read, the label of our own build or a known name."""
    if here.s.revision.executor != "ray":
        raise CannotTell("the executor is not Ray")
    reference = here.s.revision.image.reference
    found = _there(here, reference)
    named = {"true": True, "false": False}.get(found.labels.get("sparkops.ray", ""), images.known(reference).ray)
    has = bool(found.software.ray) if found.software else named
    if has is False:
        yield fail(f"{reference} has no Ray", "use --executor mp, which needs no Ray")
    elif has is None:
        yield good(f"sparkops cannot tell whether {reference} has Ray")


@Check(
    id="graphs-hung",
    title="CUDA graphs across nodes have not hung with the image",
    why=(
        "With some images, the first replay of CUDA graphs across nodes hangs. The node remembers this for the image "
        "ID, and the engine then starts with --enforce-eager, so without CUDA graphs. It may generate fewer tokens/s."
    ),
    source="vllm-project/vllm #52504 (NCCL 2.28.9 hangs, 2.30.4 does not)",
    hint=(
        "use an image with a newer NCCL; to try this image again, `sparkops stop`, delete "
        "~/.local/state/sparkops/images/*.graphs-hung on every node, and deploy"
    ),
    reads=("images", "docker-version", "docker-ps"),
    topologies=CLUSTERS,
    placed=True,
    deploys=True,
).each_node
def graphs_hung(here: Here) -> Iterator[Said]:
    if here.engine is None or not here.s.graphs(here.engine):
        raise CannotTell("this engine runs no CUDA graphs across nodes")
    found = _there(here, here.s.revision.image.reference)
    if found.graphs_hung:
        yield warn(f"CUDA graphs hung with {found.reference}, so the engine starts without them (--enforce-eager)")


def _with_mods(here: Here, reference: str) -> str:
    """The names of the image's mods: the reference may abbreviate them."""
    names = ", ".join(map(mods.short, mods.needed(here.s.effective.recipe.mods)))
    return f" (with the mods {names})" if reference.startswith(mods.PREFIX) and names else ""


def _hint(here: Here, reference: str) -> str:
    there = built(here.s.facts, reference)
    if there and "@" not in reference:
        return f"copy it from another node: {copy_newest(reference, there)}"
    return how_to_get(here, reference)


def how_to_get(here: Here, reference: str) -> str:
    """The commands that get the image for all nodes of the plan, or one line that says what is needed."""
    pinned = here.s.placement.proxy_image
    source = image_source(pinned if reference == called(pinned) else reference, here.s.effective.recipe)
    if source.way is None:
        return source.says
    if "@" in reference:
        return f"{source.says} --on {here.name}"
    takes = f" ({source.takes})" if source.takes else ""
    return f"{source.says}{takes}; copy it to the other nodes: sparkops image distribute {reference}"


def built(facts: Mapping[str, Facts], reference: str) -> dict[str, str]:
    """When the image was built, by node that has it."""
    return {name: image.created for name, one in facts.items() if (image := one.image(reference))}


def _references(here: Here) -> list[str]:
    serves = [here.s.revision.image.reference] if here.engine else []
    return serves + _proxy(here)


def _proxy(here: Here) -> list[str]:
    image = here.s.revision.proxy_image
    return [image.reference] if image and any(member.role == "proxy" for member in here.members) else []


def _there(here: Here, reference: str) -> Image:
    if docker_problem(here.facts):
        raise CannotTell("Docker cannot be used")
    found = known(asked(here.facts.images), {}).get(reference)
    if not isinstance(found, Image):
        raise CannotTell(f"the image {reference} is missing")
    return found
