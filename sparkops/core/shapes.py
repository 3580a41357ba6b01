"""What a recipe's settings say of its placement: how many nodes, by which executor, as which topology."""

from sparkops.core.effective import Effective, Overrides, effective
from sparkops.core.recipe import Recipe
from sparkops.core.topology import LEAST_CLUSTER, Executor, Shape, Topology


def usual(*recipes: Recipe) -> str:
    """The topology that fits all of these recipes: solo if each is for one node, else cluster."""
    return "solo" if all("solo" in kinds(recipe) for recipe in recipes) else "cluster"


def kinds(recipe: Recipe) -> tuple[str, ...]:
    """The topologies that the author means: parallel sizes decide, else what the recipe allows.

    A recipe that contradicts itself (4 ranks, at most one node) is for what its sizes say; a rule refuses that.
    """
    span, most = effective(recipe, "cluster", Overrides()).span, recipe.nodes.max
    alone = recipe.nodes.min <= 1 and (span or 1) == 1
    over = (most is None or most >= LEAST_CLUSTER) and span != 1
    meant = [kind for kind, possible in (("solo", alone), ("cluster", over)) if possible]
    allowed = tuple(kind for kind in meant if kind in (recipe.only or meant))
    return allowed or (("cluster",) if (span or 1) > 1 else ("solo",))


def cluster_size(settings: Effective, nodes: int, most: int | None) -> int | None:
    """How many of so many selected nodes a copy of a cluster takes; None for all.

    Parallel sizes decide: TP x PP x DP, as a GB10 has one GPU. A recipe without sizes takes `most` nodes at most.
    A recipe whose sizes or limit are for one node has no size as a cluster; a rule refuses it.
    """
    size = settings.span or min(nodes, most or nodes)
    return size if size >= LEAST_CLUSTER else None


def executor(settings: Effective, *, ring: bool = False) -> Executor:
    """What joins the ranks of a cluster: what the recipe says, else what the image was measured with.

    The articles measured the mxfp4 image with Ray. Other images run vLLM's own ranks (mp): NVIDIA's recipes,
    spark-vllm-docker and sparkrun do so since July 2026. An image without Ray always runs them, and so does a ring of
    four and more nodes, which Ray cannot use.
    """
    said, image = settings.value("distributed-executor-backend"), settings.known_image
    by_ray = said == "ray" or (said != "mp" and image.kind == "mxfp4" and not ring)
    return "ray" if by_ray and image.ray is not False else "mp"


def shape(recipe: Recipe, wanted: Topology, nodes: int | None = None) -> Shape:
    """The placement of a topology on so many nodes; without `nodes`, on as few as the recipe asks for."""
    settings, span = effective(recipe, wanted.kind, Overrides()), 1
    if wanted.kind == "cluster":
        had = nodes // wanted.copies if nodes else max(LEAST_CLUSTER, recipe.nodes.min, settings.span or 1)
        span = min(had, cluster_size(settings, had, recipe.nodes.max) or had)
    return Shape(wanted.kind, wanted.copies * span, executor(settings), str(wanted), wanted.copies)
