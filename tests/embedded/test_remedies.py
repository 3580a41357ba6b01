"""Every remedy that a check prints, run as it is printed, ends its finding; or one line says what a person must do.

A crowd of nodes has one fault each. The findings of one preflight are treated by their own words, and the next one
tells what is left. `BY_HAND` lists, for each fault that no command ends, what its line must ask of a person. The
remedies of rules: tests/world/test_remedies_of_rules.py.
"""

import re
import shlex

import pytest

from sparklab.faults import FAULTS
from sparklab.layout import PASSWORD

ONLY_WHILE_SERVING = {
    "lost-after-send", "worker-never-joins", "crash-while-loading", "engine-killed", "engine-frozen",
    "peer-dead-health-green", "slow", "reboot", "docker-hangs",
}  # fmt: skip

BY_HAND = {
    "unreachable": "check that the node is on",
    "node-hangs": "node",
    "garbage": "node",
    "bad-host-key": "compare the fingerprint",
    "cx7-down": "cable",
    "no-cable": "cable",
    "other-cage": "move the cable",
    "link-100g": "cable",
    "link-10g": "cable",
    "pings-lost": "check cable",
    "big-pings-lost": "MTU",
    "gpu-wedged": "unplug the power",
    "gpu-hot": "clear the air vents",
    "gpu-held": "stop it if it is yours",
    "port-taken": "stop it if it is yours",
    "memory-reserved": "find what reserves memory",
    "cloned": "on all but one of the nodes",
    "twin-without-ipv4": "40-cx7.yaml",
    "small-mtu": "40-cx7.yaml",
    "bridge-on-fabric": "40-cx7.yaml",
    "avahi-conflict": "avahi-daemon.conf",
    "disk-low": "to free space",
    "disk-full": "to free space",
    "firewall": "leave out this check",
}
"""A fault and words of the line that says what a person must do."""

FIRST = "port-taken"
"""Only the first node of a cluster listens on the port of the API."""

COMMAND = re.compile(r"(?:sparkops|sudo|docker) [^;()`]+")
STOPS = re.compile(r", | and (?!&)| if ")
PLACEHOLDER = re.compile(r"\b(?:NAME|NODE|INTERFACE|MODEL|RECIPE|DIR|PEER|PROFILE|USER|ADDRESS)\b")


def commands(hint):
    """The command lines in a remedy, without the words around them."""
    return [STOPS.split(found)[0].rstrip(" .:") for found in COMMAND.findall(hint)]


def held(document):
    """Every finding with its nodes: its own, or for one over all nodes those that its remedy names."""
    for node in document["nodes"]:
        for check in node["checks"]:
            if check["status"] in ("warn", "fail"):
                yield check, [node["name"]]
    for check in document["cluster"]:
        if check["status"] in ("warn", "fail"):
            yield check, re.findall(r"node\d+", check["hint"])


def run(lab, line, nodes):
    """One command as printed, on this machine or on the nodes; whether it was carried out."""
    words = shlex.split(line)
    if words[0] == "sparkops":
        ran = lab.cli(*words[1:], lab="-i" not in words, SPARKOPS_BECOME_PASSWORD=PASSWORD)
        return ran.code != 2
    return all(lab.typed(node, line) for node in nodes)


@pytest.fixture(scope="module")
def crowd(lab_with):
    """One node for each fault that a preflight finds, and two without any."""
    faults = sorted({*FAULTS} - ONLY_WHILE_SERVING, key=lambda fault: fault != FIRST)
    lab = lab_with(nodes=len(faults) + 2)
    faulty = dict(zip(lab.names, faults, strict=False))
    for node, fault in faulty.items():
        lab.fault(node, fault)
    return lab, faulty


def test_every_remedy_ends_its_finding_or_one_line_says_what_a_person_must_do(crowd, until):
    lab, faulty = crowd
    found = list(held(lab.json("preflight", code=4)))
    assert [check["id"] for check, _ in found if not check["hint"] or "\n" in check["hint"]] == []
    assert {check["id"]: check["hint"] for check, _ in found if PLACEHOLDER.search(check["hint"])} == {}
    asked = {fault: [check["hint"] for check, nodes in found if node in nodes] for node, fault in faulty.items()}
    assert {fault: asked[fault] for fault, words in BY_HAND.items() if words not in " ".join(asked[fault])} == {}

    refused = []
    for line in dict.fromkeys((line, tuple(nodes)) for check, nodes in found for line in commands(check["hint"])):
        if not run(lab, *line):
            refused.append(line)
    assert refused == []
    assert until(lambda: lab.cli("run", "-c", "true").code not in (1, 2))
    left = {}
    for check, nodes in held(lab.json("preflight", code=4)):
        for node in nodes:
            if faulty.get(node) not in BY_HAND:
                left.setdefault((node, faulty.get(node)), []).append((check["id"], check["hint"]))
    assert left == {}
