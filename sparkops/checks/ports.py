"""Checks of the TCP ports that a plan listens on."""

from collections.abc import Iterator

from sparkops.checks.check import CONTAINERS, Here, PlanCheck, Said, fail, good, read, warn
from sparkops.core.revision import Revision
from sparkops.node_commands import vllm

MP = {vllm.MASTER_PORT: "vLLM", vllm.MEETING_PORT: "the meeting of vLLM's ranks"}
"""What the head of a cluster with executor mp listens on, besides its API."""

OTHERS = {
    vllm.RAY_PORT: "Ray",
    8265: "Ray's dashboard",
    29500: "the master port of vLLM",
    vllm.MASTER_PORT: "the master port of vLLM",
}


@PlanCheck(
    id="ports-free",
    title="The ports are free",
    why="Containers use the host's network and need free ports. Ports of the replaced deployment count as free.",
    source="DGX OS: RDMA in containers needs the host network",
    hint="stop the process, or choose another port: --port",
    reads=("listeners", *CONTAINERS),
    final=True,
).each_node
def free(here: Here) -> Iterator[Said]:
    wanted, others, ours = wanted_ports(here), neighbours(here), held_by_us(here)
    for listener in read(here.facts.listeners):
        if listener.port in wanted and listener.port not in ours:
            holder = f"{listener.process} (pid {listener.pid})" if listener.process else "another process"
            yield fail(
                f"{holder} uses port {listener.port}, which {wanted[listener.port]} needs",
                _free_it(listener.port, wanted[listener.port]),
                f"LISTEN {listener.address}:{listener.port}",
            )
        elif listener.port in others and listener.port not in ours:
            use = others[listener.port]
            yield warn(
                f"port {listener.port} ({use}) is in use, maybe by another cluster", _free_it(listener.port, use)
            )
    yield good(evidence=f"needed: {', '.join(f'{port} ({use})' for port, use in sorted(wanted.items())) or 'no port'}")


def _free_it(port: int, use: str) -> str:
    tells = f"find the process, on the node: sudo ss -ltnp 'sport = :{port}'; stop it if it is yours"
    return tells + (", or deploy with another --port" if use in ("the endpoint", "the engine") else "")


def wanted_ports(here: Here) -> dict[int, str]:
    wanted: dict[int, str] = {}
    for member in here.members:
        if member.port is not None:
            wanted[member.port] = "the endpoint" if member.role == "proxy" else "the engine"
        if member.role == "head":
            wanted |= {vllm.RAY_PORT: "Ray"} if here.s.revision.executor == "ray" else MP
            wanted |= {vllm.RANKS_PORT: "vLLM's data parallel ranks"} if _data_parallel(here.s.revision) else {}
    return wanted


def _data_parallel(revision: Revision) -> bool:
    """Whether it has data parallel ranks that are not placed by Ray."""
    return revision.executor == "mp" and revision.args.get("data-parallel-size", 1) != 1


def neighbours(here: Here) -> dict[int, str]:
    """Ports that this plan does not use, but clusters of other launchers do."""
    if here.s.placement.topology.kind != "cluster":
        return {}
    return {port: use for port, use in OTHERS.items() if port not in wanted_ports(here)}


def held_by_us(here: Here) -> frozenset[int]:
    """Ports of this revision's running containers and of those that it replaces."""
    held: set[int] = set()
    for stored, found in here.going:
        member = stored.member(here.name, found.name)
        held |= {member.port} if member and member.port else set()
        held |= {vllm.RAY_PORT, vllm.RANKS_PORT, *MP} if found.role == "head" else set()
    return frozenset(held)
