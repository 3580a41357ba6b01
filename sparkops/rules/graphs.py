"""CUDA graphs: whether they are captured, for which batch sizes, and whether that is of any use."""

from functools import partial
from itertools import takewhile

from sparkops.core.effective import Effective
from sparkops.core.recipe import Benchmark, Recipe
from sparkops.core.topology import Shape
from sparkops.rules.rule import Example, Rule, Verdict, image, warn

ODD_SIZES = (5, 10)
"""Concurrencies that the public leaderboard measures and the engine's own capture sizes lack."""

SIZES = {"compilation-config": {"cudagraph_capture_sizes": [1, 2, 4, 5, 8, 10, 16]}}
AT_FIVE = ("--pp", "2048", "--concurrency", "1", "5")


def capture_sizes(effective: Effective) -> tuple[int, ...] | None:
    """The batch sizes that the recipe has captured, if it says so."""
    sizes = effective.value("cudagraph-capture-sizes") or effective.compilation.get("cudagraph_capture_sizes")
    if not isinstance(sizes, (list, tuple)):
        return None
    return tuple(int(size) for size in sizes if str(size).isdigit())


def wants_graphs(effective: Effective) -> bool:
    """Whether the recipe asks for graphs: by a mode, or by options of their capture, if the image is known to run them.

    For the mxfp4 image, capture sizes are set for one node; over several nodes its graphs crash.
    """
    if "no-enforce-eager" in effective.args or "cudagraph_mode" in effective.compilation:
        return True
    largest = effective.value("max-cudagraph-capture-size") or effective.compilation.get("max_cudagraph_capture_size")
    tuned = capture_sizes(effective) is not None or largest is not None
    return tuned and image(effective).kind != "mxfp4"


@partial(
    Rule,
    id="capture-sizes-useless",
    actions=("warn",),
    title="Capture sizes (batch sizes of CUDA graphs) are set only if CUDA graphs are on",
    why="Eager execution captures no graphs, so capture sizes have no effect.",
    source="vLLM 0.32; dendro-logic.com/recipes, 2026-05-06 (its speed at concurrency 5 and 10 needs CUDA graphs)",
    example_hit=Example(args={**SIZES, "enforce-eager": True}),
    example_miss=Example(args=SIZES),
)
def capture_sizes_useless(effective: Effective, _shape: Shape) -> Verdict | None:
    if not effective.eager or not capture_sizes(effective):
        return None
    message = "eager execution captures no graphs, so the capture sizes have no effect"
    if "enforce-eager" not in effective.args or not effective.args["enforce-eager"].origin.startswith("rule "):
        return warn(message, "remove enforce-eager or the capture sizes")
    allow = "if this image runs CUDA graphs over nodes, use --allow cluster-eager"
    if not _fits_one_node(effective.recipe):
        return warn(message, allow)
    alone = "use --topology solo or 2x-solo, where CUDA graphs stay on: the recipe's speed needs them"
    return warn(message, f"{alone}; or, {allow}")


def _fits_one_node(recipe: Recipe) -> bool:
    """Whether the author made the recipe for one node too: no limit and no parallel size says otherwise."""
    sizes = (recipe.args.get(f"{way}-parallel-size") for way in ("tensor", "pipeline", "data"))
    return (
        "solo" in (recipe.only or ("solo",))
        and recipe.nodes.min <= 1
        and all(one is None or one.value == 1 for one in sizes)
    )


@partial(
    Rule,
    id="benchmark-alignment",
    actions=("warn",),
    title="A benchmark at concurrency 5 or 10 needs CUDA graphs for batches of 5 and 10",
    why=(
        "vLLM's default capture sizes lack 5 and 10. vLLM pads batches of 5 and 10 to 8 and 16. With graphs for 5 and "
        "10, gpt-oss-120b generated 46 % and 54 % more tokens/s than in the public Spark Arena results."
    ),
    source="dendro-logic.com/recipes, 2026-05-06 (without the two sizes, 17-25 % of the speed is lost)",
    example_hit=Example(benchmark=AT_FIVE),
    example_miss=Example(args=SIZES, benchmark=AT_FIVE),
)
def benchmark_alignment(effective: Effective, _shape: Shape) -> Verdict | None:
    measured, captured = _concurrencies(effective.recipe.benchmark), capture_sizes(effective) or ()
    missing = [size for size in ODD_SIZES if size in measured and size not in captured]
    if effective.eager or not missing:
        return None
    sizes = " and ".join(map(str, missing))
    message = f"the benchmark uses concurrency {sizes}; no CUDA graph has this batch size, so vLLM pads to a larger one"
    return warn(message, _offer(effective, missing))


def _offer(effective: Effective, missing: list[int]) -> str:
    """The words that add the sizes; the engine's own list is too long to be repeated here."""
    known = capture_sizes(effective)
    if known is None:
        return (
            f"add {' and '.join(map(str, missing))} to the engine's default sizes in "
            "--compilation-config.cudagraph_capture_sizes; the recipe openai-gpt-oss-120b-concurrency shows how"
        )
    both = sorted({*known, *missing})
    if "cudagraph-capture-sizes" in effective.args:
        return f"-- --cudagraph-capture-sizes {' '.join(map(str, both))}"
    return f"--set 'args.compilation-config.cudagraph_capture_sizes=[{','.join(map(str, both))}]'"


def _concurrencies(benchmark: Benchmark | None) -> set[int]:
    """What follows `--concurrency` in a benchmark's arguments."""
    words = benchmark.args if benchmark else ()
    if "--concurrency" not in words:
        return set()
    numbers = takewhile(lambda word: not word.startswith("-"), words[words.index("--concurrency") + 1 :])
    return {int(number) for word in numbers for number in word.split(",") if number.isdigit()}
