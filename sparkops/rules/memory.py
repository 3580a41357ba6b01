"""What does not fit into memory that CPU, GPU and page cache share."""

from __future__ import annotations

from sparkops.core import models
from sparkops.core.recipe import Effective
from sparkops.core.topology import Shape
from sparkops.rules.rule import Example, Rule, Verdict, image

LONG = models.MODELS["openai/gpt-oss-120b"].context
FEW_SEQUENCES = 4
"""With 131072 tokens on one node the community ran 2 at once; more than a few is another matter."""

UNSET_UTILIZATION = 0.9
"""The engine's own value when nothing is said (0.92 since 0.30)."""


def utilization(effective: Effective, _shape: Shape) -> Verdict | None:
    value = effective.number("gpu-memory-utilization", 0)
    if image(effective).kind != "mxfp4" or value <= 0.90:
        return None
    message = f"--gpu-memory-utilization {value} on the mxfp4 image"
    if value >= 0.95:
        return Verdict("refuse", f"{message} runs out of memory", "--set args.gpu-memory-utilization=0.90 or less")
    return Verdict(
        "warn", f"{message} leaves little to the system", "0.90 is the most that is known to run, 0.70 is usual"
    )


def long_context(effective: Effective, shape: Shape) -> Verdict | None:
    context = effective.value("max-model-len")
    unset = context is None or context in ("auto", -1)
    if "gpt-oss-120b" not in effective.model.lower() or not (unset or effective.number("max-model-len", 0) >= LONG):
        return None
    used = effective.number("gpu-memory-utilization", UNSET_UTILIZATION)
    said = f"a context of {LONG}{' (unset)' if unset else ''} at --gpu-memory-utilization {used}"
    if shape.kind == "cluster":
        return _over_nodes(said, used)
    if used >= 0.85 and effective.number("max-num-seqs", LONG) > FEW_SEQUENCES:
        hint = "--set args.max-model-len=4096, or --set args.gpu-memory-utilization=0.70 --set args.max-num-seqs=2"
        return Verdict("refuse", f"{said} runs out of memory on one node", hint)
    hint = "sources differ: one runs out of memory at once, another runs it at 0.70 with --max-num-seqs 2"
    return Verdict("warn", f"{said} may not fit on one node", hint)


def _over_nodes(said: str, used: float) -> Verdict | None:
    if used < 0.80:
        return None
    hint = "--set args.gpu-memory-utilization=0.75, and drop the page caches by cron on every node"
    return Verdict("warn", f"{said} runs out of memory after about 19 hours, as the page cache grows", hint)


FULL = {"max-model-len": LONG}

RULES = (
    Rule(
        id="mxfp4-memory",
        actions=("warn", "refuse"),
        title="The mxfp4 image takes at most 0.90 of memory",
        why="Its overhead is higher than the standard image's, where 0.95 runs; what it misses the kernel kills.",
        source="kubis.ai 8/9: 0.95 runs out of memory; upstream's recipe has 0.70, later 0.80",
        example_hit=Example(args={"gpu-memory-utilization": 0.95}),
        example_miss=Example(args={"gpu-memory-utilization": 0.9}),
        judge=utilization,
    ),
    Rule(
        id="long-context-memory",
        actions=("warn", "refuse"),
        title="gpt-oss-120b with its full context needs room",
        why="On one node 131072 tokens beside the weights run out of memory at once; on two, at 0.80, the page cache "
        "takes what is left within about 19 hours.",
        source="kubis.ai 6/9 and 8/9; against: the community's command of 3/9 (0.70, --max-num-seqs 2)",
        example_hit=Example(args={**FULL, "gpu-memory-utilization": 0.9}),
        example_miss=Example(topology="cluster", args={**FULL, "gpu-memory-utilization": 0.75}),
        judge=long_context,
    ),
)
