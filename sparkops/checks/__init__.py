"""Checks: pure judgements of a situation's facts. A failing one refuses a deploy unless it is allowed by its id."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from sparkops.checks import fabric, node
from sparkops.core.findings import Finding
from sparkops.core.situation import Situation


@dataclass(frozen=True)
class Check:
    """`judge` yields what it holds against the situation; `source` says who learnt it."""

    id: str
    title: str
    why: str
    source: str
    judge: Callable[[Situation], Iterator[Finding]]


CHECKS = (
    Check(
        "docker-usable",
        "Docker answers the login user",
        "Stock DGX OS does not put its first user into the group docker.",
        "NVIDIA dgx-spark-playbooks, step «permission denied»",
        node.docker_usable,
    ),
    Check(
        "image-present",
        "The image is on every node",
        "A 25 GB image takes most of an hour to build; a deploy must not start that unasked.",
        "spark-vllm-docker, Dockerfile.mxfp4",
        node.image_present,
    ),
    Check(
        "image-same",
        "The image is the same on all nodes",
        "Different builds on the ranks of a cluster hang in NCCL. Compared by layers, configuration and platform, "
        "because image IDs differ between Docker's stores.",
        "spark-vllm-docker issue 327",
        node.image_same,
    ),
    Check(
        "model-present",
        "The model is complete on every node",
        "Containers are started offline, so that they come back after a power loss without internet.",
        "spark-vllm-docker issue 262",
        node.model_present,
    ),
    Check(
        "ports-free",
        "The ports are free",
        "The containers use the host's network. What our own deployment holds and this one replaces counts as free.",
        "DGX OS: host network is what RDMA needs",
        node.ports_free,
    ),
    Check(
        "machines-differ",
        "Every node is a machine of its own",
        "Units that an OEM cloned share machine-id and SSH host keys: DHCP gives them one address, and trust in one is "
        "trust in the other.",
        "DGX Spark OEM images, reported by owners",
        node.machines_differ,
    ),
    Check(
        "cx7-usable",
        "A cluster has a CX7 link on every node",
        "Tensor parallelism over the office network works, and is many times slower without saying so.",
        "NVIDIA connect-two-sparks; NCCL falls back to sockets silently",
        fabric.cx7_usable,
    ),
    Check(
        "no-ring",
        "The CX7 ports are not cabled as a ring",
        "In a ring each pair of nodes has a subnet of its own, so no address of a node is reached by all others.",
        "NVIDIA, three Sparks without a switch",
        fabric.no_ring,
    ),
)


def findings(s: Situation, allow: frozenset[str]) -> tuple[Finding, ...]:
    """All that the checks hold against the situation; what is in `allow` is kept, visibly, but does not refuse."""
    found = []
    for check in CHECKS:
        for finding in check.judge(s):
            allowed = finding.action == "fail" and check.id in allow
            found.append(replace(finding, why=check.why, action="allowed" if allowed else finding.action))
    return tuple(found)
