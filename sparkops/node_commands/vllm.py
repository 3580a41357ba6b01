"""What runs in an engine's container: the entry script's arguments and the environment."""

from sparkops.core.endpoints import health_url
from sparkops.core.revision import FabricLink, Member, Revision

RAY_PORT = 6379
MASTER_PORT = 29501


def words(revision: Revision, member: Member, serve: tuple[str, ...], graphs: str = "") -> tuple[str, ...]:
    """The entry script's arguments for this member; `serve` is the recipe's `vllm serve` line.

    `graphs` is the digest of the image if CUDA graphs run across nodes.
    """
    if revision.topology != "cluster":
        return ("server", "--health", health_url(member), "--", *serve, *_listen(member))
    head = revision.engines[0]
    answers = ("--health", health_url(head), *(("--graphs", graphs) if graphs else ()))
    assert head.link is not None, "a cluster's members have links"
    assert member.link is not None, "a cluster's members have links"
    if revision.executor == "mp":
        rank = _mp_rank(revision, member, head.link)
        return (member.role, *answers, "--fabric", member.link.address, "--", *serve, *_listen(member), *rank)
    if member.role == "head":
        shape = ("--fabric", member.link.address, "--nodes", str(len(revision.engines)), "--port", str(RAY_PORT))
        return ("ray-head", *answers, *shape, "--", *serve, *_listen(member))
    meet = ("--head", head.link.address, "--port", str(RAY_PORT))
    return ("ray-worker", *answers, "--fabric", member.link.address, *meet)


def environment(revision: Revision, member: Member, ready_timeout: int, offline: bool) -> dict[str, str]:
    """The recipe's variables and those that the placement adds; `ready_timeout` (seconds) is our own deadline.

    `offline` once the model is known to be complete, so that it comes back without internet.
    """
    base = {
        **({"HF_HUB_OFFLINE": "1"} if offline else {}),
        "VLLM_NO_USAGE_STATS": "1",
        "VLLM_ENGINE_READY_TIMEOUT_S": str(ready_timeout),
    }
    return {**base, **_network(member.link), **revision.env}


def _listen(member: Member) -> tuple[str, ...]:
    return () if member.port is None else ("--host", "0.0.0.0", "--port", str(member.port))


def _mp_rank(revision: Revision, member: Member, head: FabricLink) -> tuple[str, ...]:
    place = ("--nnodes", str(len(revision.engines)), "--node-rank", str(member.rank))
    meet = ("--master-addr", head.address, "--master-port", str(MASTER_PORT))
    return (*place, *meet, *(() if member.rank == 0 else ("--headless",)))


def _network(link: FabricLink | None) -> dict[str, str]:
    """Interface and RDMA devices of this node for NCCL and Gloo; names differ between nodes.

    Without RDMA devices (`--allow cx7-usable`) NCCL uses sockets. Ray's own guard against full memory misjudges a
    memory that CPU and GPU share (every cluster recipe of spark-vllm-docker switches it off), and the workers that it
    starts for tasks, one a CPU, would only hold memory: vLLM has actors, no tasks (seen in the lab with real Ray).
    """
    if link is None:
        return {}
    rdma = {"NCCL_IB_DISABLE": "0", "NCCL_IB_HCA": ",".join(link.devices)} if link.devices else {"NCCL_IB_DISABLE": "1"}
    return {
        "VLLM_HOST_IP": link.address,
        "NCCL_SOCKET_IFNAME": link.interface,
        "GLOO_SOCKET_IFNAME": link.interface,
        "RAY_memory_monitor_refresh_ms": "0",
        "RAY_prestart_worker_first_driver": "0",
        **rdma,
    }
