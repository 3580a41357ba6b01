"""Data parallel ranks: copies of a model that one API serves; of a mixture of experts, they share the experts."""

from functools import partial
from typing import Any

from sparkops.core.effective import Effective
from sparkops.core.topology import Shape
from sparkops.rules.rule import Example, Rule, Verdict, fix, image, set_args, set_env

SEVERAL_APIS = (
    *("data-parallel-hybrid-lb", "data-parallel-external-lb", "data-parallel-multi-port-external-lb"),
    *("data-parallel-supervisor-port", "enable-fault-tolerance"),
)
"""Flags for an API on each node."""

PLACES = ("VLLM_RAY_DP_PACK_STRATEGY", "VLLM_RAY_DP_PLACEMENT_NODE_IPS")
"""Variables that say where Ray puts the ranks, which sparkops decides."""


@partial(
    Rule,
    id="data-parallel-ranks",
    actions=("fix", "warn", "refuse"),
    title="Each data parallel rank has nodes of its own, and the head has the only API",
    why=(
        "A GB10 has one GPU, so a node holds at most one data parallel rank. Recipes for larger machines place several "
        "on each. vLLM also starts an API process for each rank, all of them on the head. With executor mp, all ranks "
        "meet at one address. A mixture of experts forms one group of all ranks there. Each copy of another model "
        "forms a group of its own, so if copies span nodes, they wait for each other for ever."
    ),
    source="vLLM 0.32: engine/arg_utils.py, config/parallel.py, v1/engine/utils.py; tried with its CPU build",
    example_hit=Example(topology="cluster", args={"data-parallel-size": 2}),
    example_miss=Example(topology="cluster", args={"tensor-parallel-size": 2}),
    final=True,
)
def data_parallel_ranks(effective: Effective, shape: Shape) -> Verdict | None:
    ranks = effective.parallel("data")
    if shape.kind != "cluster" or effective.span not in (None, shape.span):
        return None
    wanted: dict[str, Any] = {name: None for name in SEVERAL_APIS if effective.value(name)}
    by_ray = ranks > 1 and shape.executor == "ray"
    if by_ray or effective.value("data-parallel-backend") == "ray":
        wanted["data-parallel-backend"] = "ray" if by_ray else None
    if ranks == 1:
        wanted |= {"data-parallel-size-local": None} if effective.value("data-parallel-size-local", 1) != 1 else {}
        return fix("there are no data parallel ranks", set_args(effective, wanted))
    wanted |= {"data-parallel-size-local": 1}
    wanted |= {} if effective.number("api-server-count", 0) >= 1 else {"api-server-count": 1}
    each = shape.span // ranks
    changes = (*set_args(effective, wanted), *set_env(effective, dict.fromkeys(PLACES)))
    if shape.executor == "ray" or each == 1 or effective.experts:
        nodes = "a node" if each == 1 else f"{each} nodes"
        return fix(f"each of {ranks} data parallel ranks has {nodes} of its own", changes)
    message = f"without experts, vLLM's own ranks do not meet if each of {ranks} data parallel ranks spans {each} nodes"
    copies = f"--topology {ranks * shape.copies}x-cluster --set args.data-parallel-size=1"
    ray = "" if image(effective).ray is False else "; or --executor ray"
    hint = f"start independent copies behind one address: use {copies}{ray}"
    return Verdict("warn" if effective.experts is None else "refuse", message, hint, changes)
