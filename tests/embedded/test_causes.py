"""With one fault or two on a node, preflight names the cause first, and what follows from it has no remedy of its own.

What follows from what, by captures: tests/unit/checks/test_causes.py. Faults and their checks: docs/reference/lab.md.
"""

from support.fault_table import FOUND

PAIRS = {
    ("unreachable", "kernel-differs"): "ssh",
    ("no-docker-group", "no-image"): "docker-usable",
    ("kernel-kho", "reboot-pending"): "kernel",
    ("kernel-kho", "memory-reserved"): "kernel",
    ("driver-updated", "reboot-pending"): "reboot-pending",
    ("driver-updated", "kernel-differs"): "reboot-pending",
    ("driver-branch", "long-up"): "driver-branch",
    ("gpu-held", "page-cache-full"): "gpu-free",
    ("gpu-held", "gpu-stranger"): "gpu-free",
    ("page-cache-full", "sudo-password"): "page-cache",
    ("disk-full", "no-image"): "disk-room",
    ("disk-full", "no-model"): "disk-room",
    ("cx7-down", "small-mtu"): "cx7-usable",
    ("rdma-down", "no-infiniband"): "cx7-usable",
}
"""Two faults of a node, and the check whose finding comes first."""


APART = ("driver-branch", "kernel-differs", "kernel-kho")
"""Faults that a check of all nodes finds too: it follows from the node's only if no other node differs."""


def held(checks):
    return [check for check in checks if check["status"] in ("warn", "fail")]


def test_in_a_crowd_the_cause_comes_first_on_each_node_and_the_rest_follows_from_causes(lab_with):
    singles = {(fault,): checks[0] for fault, checks in FOUND.items() if len(checks) > 1}
    expected = {**PAIRS, **singles}
    lab = lab_with(nodes=len(expected) + 1)
    for node, faults in zip(lab.names, expected, strict=False):
        for fault in faults:
            lab.fault(node, fault)
    document = lab.json("preflight", code=4)
    wrong = {}
    for node, faults in zip(document["nodes"], expected, strict=False):
        found = held(node["checks"])
        causes = {check["id"] for check in found if check["follows"] is None}
        followers = [check for check in found if check["follows"]]
        right = found[0]["id"] == expected[faults] and {check["follows"] for check in followers} <= causes
        if not right or any(check["hint"] != f"follows from {check['follows']}" for check in followers):
            wrong[faults] = [(check["id"], check["hint"]) for check in found]
    assert wrong == {}


def test_what_all_nodes_show_together_follows_from_the_one_node_that_differs(lab):
    wrong = {}
    for fault in APART:
        cause, *rest = FOUND[fault]
        with lab.trouble("node2", fault):
            document = lab.json("preflight", code=None)
        found = held([*document["cluster"], *(check for node in document["nodes"] for check in node["checks"])])
        follows = {check["id"]: check["follows"] for check in found}
        cures = [check["hint"] for check in found if check["hint"].endswith(f"(cures {len(follows)} findings)")]
        if document["order"][0] != cause or follows != {cause: None, **dict.fromkeys(rest, cause)} or len(cures) != 1:
            wrong[fault] = [(check["id"], check["hint"]) for check in found]
    assert wrong == {}
