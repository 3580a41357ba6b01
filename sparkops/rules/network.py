"""What a recipe cannot know: addresses and names of interfaces, which differ from node to node."""

from functools import partial

from sparkops.core.effective import Effective
from sparkops.core.recipe import ADDRESSES
from sparkops.core.topology import Shape
from sparkops.rules.rule import Example, Rule, Verdict, refuse, warn

NAMES = ("NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME", "NCCL_IB_HCA", "NCCL_IB_GID_INDEX", "NCCL_IB_DISABLE")
"""One value for all nodes may be right, until a cable is moved."""

OURS = {"NCCL_IB_DISABLE": "0"}
"""Values that sparkops sets too."""


@partial(
    Rule,
    id="network-per-node",
    actions=("refuse", "warn"),
    title="A recipe names no addresses and no interfaces",
    why=(
        "If VLLM_HOST_IP differs from Ray's address, Ray waits half an hour for a node that does not exist. With a "
        "wrong NCCL_IB_HCA, NCCL uses slow TCP sockets and prints no message. With a wrong GID index, NCCL hangs."
    ),
    source="eugr/spark-vllm-docker #227, #40, #146; vLLM 0.32's own message about VLLM_HOST_IP",
    example_hit=Example(topology="cluster", env={"VLLM_HOST_IP": "10.0.0.1"}),
    example_miss=Example(topology="2x-solo", env={"VLLM_HOST_IP": "10.0.0.1"}),
)
def network_per_node(effective: Effective, shape: Shape) -> Verdict | None:
    if shape.kind != "cluster":
        return None
    fixed = [name for name in ADDRESSES if name in effective.env]
    named = [name for name in NAMES if name in effective.env and effective.env[name].value != OURS.get(name)]
    if fixed:
        message = f"{', '.join(fixed)}: the recipe sets one value for all nodes, but each node needs its own value"
        return refuse(message, f"remove them, because sparkops sets them for each node: {_unset(fixed + named)}")
    if not named:
        return None
    message = f"the recipe sets {', '.join(named)} for all nodes; sparkops would read the right values from each node"
    return warn(message, f"remove them, because device names differ between nodes and ports: {_unset(named)}")


def _unset(names: list[str]) -> str:
    return " ".join(f"--set env.{name}=" for name in names)
