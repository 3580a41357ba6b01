"""What runs in an engine's container: the entry script's arguments and the environment."""

from collections.abc import Mapping
from typing import Any

from sparkops.core.endpoints import health_url
from sparkops.core.recipe import MOUNTS
from sparkops.core.revision import FabricLink, Member, Revision
from sparkops.core.stored import SHORT_HASH

RAY_PORT = 6379
MASTER_PORT = 29501
RANKS_PORT = 29550
"""Where the API reaches data parallel ranks of executor mp: vLLM's default."""

MEETING_PORT = 29510
"""Where rank 0 of executor mp waits for the other ranks (`node/ranks.sh`)."""

_EACH_CABLE = {"NCCL_NET_PLUGIN": "none", "NCCL_IB_SUBNET_AWARE_ROUTING": "1", "NCCL_IB_MERGE_NICS": "0"}
OVER_ALL_CABLES: Mapping[str, Mapping[str, str]] = {
    "triangle": _EACH_CABLE,
    "ring": {**_EACH_CABLE, "NCCL_ALGO": "Ring", "NCCL_RUNTIME_CONNECT": "1", "NCCL_CUMEM_ENABLE": "1"},
}
"""What NCCL needs where each cable has subnets of its own: to choose the device by the peer's subnet, and with four and
more nodes to connect only to neighbours. Sources: NVIDIA/dgx-spark-playbooks, connect-three-sparks;
eugr/spark-vllm-docker, docs/NETWORKING.md; yunwei37/dgx-spark-4-ring-no-switch."""


def words(revision: Revision, member: Member, serve: tuple[str, ...], graphs: str = "") -> tuple[str, ...]:
    """The entry script's arguments for this member; `serve` is the recipe's `vllm serve` line.

    `graphs` is the digest of the image if CUDA graphs run across nodes.
    """
    if member.role == "server":
        return ("server", "--health", health_url(member), "--", *serve, *_listen(member))
    ranks = revision.copy_of(member)
    head = ranks[0]
    answers = ("--health", health_url(head), *(("--graphs", graphs) if graphs else ()))
    assert head.link is not None, "a cluster's members have links"
    assert member.link is not None, "a cluster's members have links"
    if revision.executor == "mp":
        addresses = ",".join(engine.link.address for engine in ranks if engine.link)
        shape = ("--fabric", member.link.address, "--ranks", addresses, "--port", str(MEETING_PORT))
        rank = _mp_rank(len(ranks), member, head.link, revision.args)
        return (member.role, *answers, *shape, "--", *serve, *_listen(member), *rank)
    meet = ("--port", str(RAY_PORT), "--id", revision.hash[:SHORT_HASH])
    if member.role == "head":
        place = ("--fabric", member.link.address, "--nodes", str(len(ranks)), *meet)
        return ("ray-head", *answers, *place, "--", *serve, *_listen(member))
    return ("ray-worker", *answers, "--fabric", member.link.address, "--head", head.link.address, *meet)


def environment(revision: Revision, member: Member, ready_timeout: int, offline: bool) -> dict[str, str]:
    """The recipe's variables and those that the placement adds; `ready_timeout` (seconds) is our own deadline.

    `offline` once the model is known to be complete, so that it comes back without internet.
    """
    base = {
        **({"HF_HUB_OFFLINE": "1"} if offline else {}),
        "VLLM_NO_USAGE_STATS": "1",
        "VLLM_ENGINE_READY_TIMEOUT_S": str(ready_timeout),
    }
    across = {**_network(member.link), **_joined(revision)} if member.link else {}
    return {**base, **across, **revision.env}


def _listen(member: Member) -> tuple[str, ...]:
    return () if member.port is None else ("--host", "0.0.0.0", "--port", str(member.port))


def _mp_rank(ranks: int, member: Member, head: FabricLink, args: Mapping[str, Any]) -> tuple[str, ...]:
    no_api = ("--api-server-count", "0") if "api-server-count" in args else ()
    place = ("--nnodes", str(ranks), "--node-rank", str(member.rank))
    meet = ("--master-addr", head.address, "--master-port", str(MASTER_PORT))
    return (*place, *meet, *(() if member.rank == 0 else ("--headless", *no_api)))


def _network(link: FabricLink) -> dict[str, str]:
    """Interface and RDMA devices of this node for NCCL and Gloo; names differ between nodes.

    Without RDMA devices (`--allow cx7-usable`) NCCL uses sockets.
    """
    rdma = {"NCCL_IB_DISABLE": "0", "NCCL_IB_HCA": ",".join(link.devices)} if link.devices else {"NCCL_IB_DISABLE": "1"}
    return {
        "VLLM_HOST_IP": link.address,
        "NCCL_SOCKET_IFNAME": link.interface,
        "GLOO_SOCKET_IFNAME": link.interface,
        **rdma,
        **(OVER_ALL_CABLES[link.cabling] if link.cabling else {}),
    }


def _joined(revision: Revision) -> dict[str, str]:
    """What engines that span nodes need with this executor; `docs/explanation/clusters.md` has the reasons."""
    jit = f"{MOUNTS['vllm'][1]}/jit/{revision.image.fingerprint[:12]}"
    common = {
        "NCCL_IGNORE_CPU_AFFINITY": "1",
        "TRITON_CACHE_DIR": f"{jit}/triton",
        "TILELANG_CACHE_DIR": f"{jit}/tilelang",
    }
    if revision.executor == "ray":
        common |= {"VLLM_RAY_DP_PACK_STRATEGY": "span"} if _spread(revision) else {}
        return {**common, "RAY_memory_monitor_refresh_ms": "0", "RAY_prestart_worker_first_driver": "0"}
    if revision.args.get("enable-sleep-mode") or "PYTORCH_ALLOC_CONF" in revision.env:
        return common
    return {**common, "PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}


def _spread(revision: Revision) -> bool:
    """Whether each of several data parallel ranks spans nodes; else Ray looks for one node with all GPUs of a rank."""
    ranks = int(revision.args.get("data-parallel-size", 1))
    return 1 < ranks < len(revision.copy_of(revision.engines[0]))
