"""Every remedy that a check prints, run as it is printed, ends its finding; or one line says what a person must do.

A crowd of nodes has one fault each. The commands of one preflight are run, and the next preflight tells what is left.
`BY_HAND` lists, for each fault that no command ends, what its line must ask of a person. The remedies of rules:
tests/world/test_remedies_of_rules.py.
"""

import re
import shlex

import pytest

from sparklab.faults import FAULTS
from sparklab.layout import PASSWORD
from sparkops.files import recipes
from support.fault_table import CABLES

ONLY_WHILE_SERVING = {
    "lost-after-send", "worker-never-joins", "crash-while-loading", "engine-killed", "engine-frozen",
    "peer-dead-health-green", "slow", "reboot", "docker-hangs", "memory-leaks", "cron-dead",
}  # fmt: skip

BY_HAND = {
    "unreachable": "check that sshd runs",
    "node-hangs": "node",
    "garbage": "login shell",
    "bad-host-key": "if you reinstalled the node",
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
    "memory-64": "until 5 GiB are left on",
    "memory-reserved": "find what reserves memory",
    "cloned": "on all but one of the nodes",
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
SPEED = 200.0
"""Nothing here looks at what happens in the middle of a build or a copy."""

PLACEHOLDER = re.compile(r"(?<!\$)\b(?:NAME|NODE|INTERFACE|MODEL|RECIPE|DIR|PEER|PROFILE|USER|ADDRESS)\b")


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
            yield check, re.findall(r"\bon (node\d+)", check["hint"]) or re.findall(r"node\d+", check["evidence"])


def run(lab, line, nodes):
    """One command as printed, on this machine or on the nodes; whether it was carried out."""
    words = shlex.split(line)
    if words[0] == "sparkops":
        ran = lab.cli(*words[1:], lab="-i" not in words, SPARKOPS_BECOME_PASSWORD=PASSWORD)
        if "nobody answered yes" in ran.err:
            ran = lab.cli(*words[1:], "--yes", lab="-i" not in words, SPARKOPS_BECOME_PASSWORD=PASSWORD)
        return ran.code != 2
    return all(lab.typed(node, line) or "reboot" in words for node in nodes)


def rebooted(lab):
    """Whether every node that was told to reboot has done so."""
    told = [
        [one for one in lab.events(name) if "reboot" in (one["event"], one.get("kind")) or one["event"] == "boot"]
        for name in lab.names
    ]
    return all(not events or events[-1]["event"] == "boot" for events in told)


def crowds():
    """The faults in groups, so that a command for all nodes is for few; each group has a node without a fault."""
    faults = sorted({*FAULTS} - ONLY_WHILE_SERVING - {*CABLES} - {FIRST})
    groups = [faults[start : start + 8] for start in range(0, len(faults), 8)]
    return [[FIRST, *groups[0]], *([None, *group] for group in groups[1:])]


@pytest.mark.parametrize("faults", crowds(), ids=lambda faults: faults[1])
def test_every_remedy_ends_its_finding_or_one_line_says_what_a_person_must_do(faults, lab_with, until):
    lab = lab_with(nodes=len(faults) + 1, speed=SPEED)
    faulty = {node: fault for node, fault in zip(lab.names, faults, strict=False) if fault}
    for node, fault in faulty.items():
        lab.fault(node, fault)
    found = list(held(lab.json("preflight", code=None)))
    assert [check["id"] for check, _ in found if not check["hint"] or "\n" in check["hint"]] == []
    assert {check["id"]: check["hint"] for check, _ in found if PLACEHOLDER.search(check["hint"])} == {}
    asked = {fault: [check["hint"] for check, nodes in found if node in nodes] for node, fault in faulty.items()}
    assert [fault for fault, hints in asked.items() if not hints] == []
    silent = {fault: asked[fault] for fault in asked if BY_HAND.get(fault, "") not in " ".join(asked[fault])}
    assert silent == {}
    for node, fault in faulty.items():
        if fault in BY_HAND:
            lab.fault(node, fault, off=True)  # a person does what the line asks

    mending = ((check, [node for node in nodes if faulty.get(node) not in BY_HAND]) for check, nodes in found)
    lines = dict.fromkeys((line, tuple(nodes)) for check, nodes in mending for line in commands(check["hint"]))
    assert [line for line in lines if not run(lab, *line)] == []
    assert until(lambda: rebooted(lab)), "a node did not come back from its reboot"
    left = [(nodes, [faulty.get(node) for node in nodes], check) for check, nodes in held(lab.json("preflight"))]
    assert left == []
    lab.down()


def test_every_image_of_the_catalogue_is_got_by_the_commands_of_its_remedy(lab_with):
    lab = lab_with(speed=SPEED)
    images = {one.container: one.name for one in map(recipes.recipe, recipes.recipe_names())}
    for words in (*(("--recipe", name) for name in images.values()), ("--topology", "2x-solo")):
        for name in lab.names:
            if found := lab.on(name, "docker", "image", "ls", "-q").split():
                lab.on(name, "docker", "rmi", "-f", *dict.fromkeys(found))
        missing = list(held(lab.json("preflight", *words, "--only", "image-present", code=3)))
        lines = dict.fromkeys(line for check, _ in missing for line in commands(check["hint"]))
        assert [line for line in lines if not run(lab, line, [])] == []
        assert lab.json("preflight", *words, "--only", "image-present")["verdict"] == "pass"


def test_each_share_of_memory_that_is_advised_beside_a_running_model_serves(lab_with):
    lab = lab_with(nodes=1)
    first = ("--recipe", "nemotron-3-nano-nvfp4")
    second = (*first, "--name", "second", "--alongside")
    large = (*second, "--set", "args.gpu-memory-utilization=0.6")
    lab.deploy("solo", *first, "--setup", "--set", "args.gpu-memory-utilization=0.5")
    hint = lab.json("deploy", "--topology", "solo", *large, code=3)["error"]["hint"]
    smaller, beside = re.findall(r"--set (args\.gpu-memory-utilization=[\d.]+)", hint)
    lab.deploy("solo", *second, "--set", beside)
    lab.cli("stop", "second", "--remove", code=0)
    lab.deploy("solo", *first, "--alongside", "--set", smaller)
    assert lab.deploy("solo", *large)["ok"]
    warned = [one["id"] for one in lab.json("status")["warnings"]]
    assert "memory-low" not in warned, "the system has its part, too"
