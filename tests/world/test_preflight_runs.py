"""Whole preflights over simulated nodes: how they are reached, judged, mended, and what is told."""

from collections import Counter
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

from sparkops.checks import CHECKS
from sparkops.core.plan import Result, Word
from sparkops.testing import COMMANDS, SCRIPTS, SimulatedNode, SimulatedWorld
from sparkops.testing.facts import capture
from sparkops.testing.scripts import said
from sparkops.testing.sparks import sparks
from sparkops.testing.store import Store
from support.captures import changes_of, parts, probes_of
from support.world import Lab


def statuses(document: Any, node: str | None = None) -> dict[str, str]:
    found = next((one["checks"] for one in document["nodes"] if one["name"] == node), document["cluster"])
    return {check["id"]: check["status"] for check in found}


def held(document: Any, node: str | None = None) -> dict[str, str]:
    return {check: status for check, status in statuses(document, node).items() if status in ("warn", "fail")}


def test_healthy_nodes_pass_every_check_in_two_waves_over_one_connection_each(tmp_path: Path) -> None:
    lab = Lab(tmp_path, nodes=3)
    document = lab.json("preflight")
    assert document["verdict"] == "pass"
    assert lab.world.connections == 3
    asked = Counter((one.node, one.shown.split()[0]) for one in lab.received())
    assert asked == dict.fromkeys(product(lab.names, ("@facts", "@peers")), 1)
    assert lab.changed() == []
    each = {check.id for check in CHECKS if check.each}
    assert all({check["id"] for check in node["checks"]} == each for node in document["nodes"])
    assert {check["id"] for check in document["cluster"]} == {check.id for check in CHECKS} - each


def test_one_node_is_judged_for_solo_and_nobody_asks_of_its_link(lab: Lab) -> None:
    document = lab.json("preflight", "--limit", "node1")
    assert (document["topology"], [node["name"] for node in document["nodes"]]) == ("solo", ["node1"])
    assert statuses(document, "node1")["cx7-usable"] == "skip"


def test_a_node_that_is_away_keeps_nobody_from_being_judged(tmp_path: Path) -> None:
    lab = Lab(tmp_path, nodes=3)
    lab.world.lose("node2")
    document = lab.json("preflight", code=4)
    assert [node["reachable"] for node in document["nodes"]] == [True, False, True]
    first, second, third = (statuses(document, name) for name in lab.names)
    assert (second["ssh"], second["memory-fits"]) == ("fail", "skip")
    assert first == third
    assert lab.cli("preflight", code=4).out.splitlines()[-1].endswith(", node2 not checked")
    assert first["cx7-pings"] == "pass"


def test_a_share_below_weights_and_overhead_is_refused_by_every_command_before_anything_changes(lab: Lab) -> None:
    small = lab.home / "small.yml"
    small.write_text("model: openai/gpt-oss-120b\ncontainer: vllm-node-mxfp4\nargs: {gpu-memory-utilization: 0.5}\n")
    words = ("--topology", "solo", "--recipe", small)
    for verb in ("plan", "deploy"):
        assert "[memory-fits]" in lab.json(verb, *words, code=3)["error"]["message"]
    document = lab.json("preflight", *words, code=3)
    (found,) = (check for check in document["nodes"][0]["checks"] if check["id"] == "memory-fits")
    assert "nothing is left for the KV cache" in found["message"]
    assert found["hint"].startswith("would fit: --set args.gpu-memory-utilization=0.6")
    assert lab.changed() == []


def test_it_passes_while_what_was_deployed_serves(tmp_path: Path) -> None:
    topologies = ("solo", "2x-solo", "cluster")
    verdicts = {}
    for deployed in topologies:
        lab = Lab(tmp_path / deployed)
        lab.deploy(deployed)
        for judged in topologies:
            verdicts[deployed, judged] = lab.json("preflight", "--topology", judged)["verdict"]
    assert verdicts == dict.fromkeys(product(topologies, topologies), "pass")


def test_nodes_that_agree_are_told_of_together_with_the_remedy_and_the_worst_comes_first(tmp_path: Path) -> None:
    lab = Lab(tmp_path, nodes=4)
    for node in lab.world.nodes.values():
        node.models.clear()
        node.total_kib = 118_000_000
    told = lab.cli("preflight", code=3).out.splitlines()
    firsts = [line.split()[0] for line in told if line and not line.startswith(" ")]
    assert "fail  model-present: 4 nodes: the model openai/gpt-oss-120b is not in the cache" in told
    assert f"sparkops -i {lab.inventory} model fetch openai/gpt-oss-120b" in " ".join(" ".join(told).split())
    assert firsts == sorted(firsts[:-1], key=["fail", "warn"].index) + ["fail"]


def test_many_nodes_with_words_of_their_own_are_still_few_lines(tmp_path: Path) -> None:
    lab = Lab(tmp_path, nodes=40)
    for name in lab.names[1:]:
        lab.world.shut(name, f"no answer from {name}")
    assert len(lab.cli("preflight", code=4).out.splitlines()) < 20


def test_only_and_skip_read_no_more_than_the_checks_need_and_a_slip_names_the_nearest(lab: Lab) -> None:
    document = lab.json("preflight", "--only", "uptime,kernel")
    assert statuses(document, "node1") == {"uptime": "pass", "kernel": "pass"}
    assert [one.shown.partition("--only ")[2] for one in lab.received()] == ["uname,boot,cmdline"] * 2
    lab.mark()
    assert "cx7-pings" not in statuses(lab.json("preflight", "--skip", "cx7-pings,cx7-cabling"), "node1")
    assert {one.shown.split()[0] for one in lab.received()} == {"@facts"}
    assert "uptime" in lab.json("preflight", "--skip", "uptimes", code=2)["error"]["message"]


def test_a_fix_touches_nothing_unasked_mends_under_the_lock_and_goes_with_a_cleanup(lab: Lab) -> None:
    for node in lab.world.nodes.values():
        node.lingers = False
    refused = lab.json("preflight", "--fix", code=3)
    assert lab.changed() == []
    assert [step["title"] for step in refused["plan"]] == [
        "record the change in the manifest",
        "enable lingering for nvidia",
    ] * 2
    mended = lab.json("preflight", "--fix", "--yes")
    assert (mended["verdict"], statuses(mended, "node2")["linger"]) == ("pass", "fixed")
    assert all(node.lingers for node in lab.world.nodes.values())
    assert lab.world.locks == 1
    cleaned = lab.json("cleanup", "--yes")["nodes"]
    assert [(one["kind"], one["what"]) for one in cleaned[0]["entries"]] == [
        ("file", f"{lab.node('node1').state_dir}/history"),
        ("linger", "nvidia"),
    ]
    assert [node["left"] for node in cleaned] == [[], []]
    assert not any(node.lingers for node in lab.world.nodes.values())
    assert "fixed linger: 2 nodes: fixed" in lab.cli("preflight", "--fix", "--yes", code=0).out


def test_a_fix_that_waited_mends_what_is_wrong_then(lab: Lab) -> None:
    first, second = lab.world.nodes.values()
    first.lingers, second.lock, second.owner = False, "cafe0001", {"run": "cafe0001"}
    second.lingers = False

    def ends() -> None:
        first.lingers, second.lock = True, None

    lab.world.later(30, ends)
    mended = lab.json("preflight", "--fix", "--yes", "--wait")
    assert [step["node"] for step in mended["plan"]] == ["node2"] * 2
    assert [statuses(mended, name)["linger"] for name in lab.names] == ["pass", "fixed"]


def test_a_step_that_fails_is_told_and_the_rest_is_mended(tmp_path: Path) -> None:
    def linger(node: SimulatedNode, words: tuple[Word, ...], stdin: str) -> Result:
        if node.name == "node1":
            return said(code=1, errors="Could not enable linger: Access denied\n")
        return COMMANDS["loginctl"](node, words, stdin)

    lab = Lab(tmp_path, world=sparks(prefix="node", commands={**COMMANDS, "loginctl": linger}))
    for node in lab.world.nodes.values():
        node.lingers = False
    document = lab.json("preflight", "--fix", "--yes", code=5)
    assert [statuses(document, name)["linger"] for name in lab.names] == ["warn", "fixed"]
    assert document["verdict"] == "warn"


def test_a_missing_image_is_got_as_the_list_says_and_nothing_happens_unasked(lab: Lab) -> None:
    for node in lab.world.nodes.values():
        node.engine.store = Store(lambda _image: False)
    refused = lab.json("preflight", "--fix", code=3)
    assert lab.changed() == []
    ways = [(step["node"], step["title"]) for step in refused["plan"]]
    assert ways == [("node1", "build vllm-node-mxfp4 on node1 and copy it to the others")]
    lab.cli("trust", "--yes", code=0)
    lab.node("node2").lingers = False  # a fix beside it, under the lock of one node only
    fixed = lab.json("preflight", "--fix", "--yes")
    assert [statuses(fixed, name)["image-present"] for name in lab.names] == ["fixed", "fixed"]
    assert statuses(fixed, "node2")["linger"] == "fixed"
    lab.deploy("cluster")


Trouble = Callable[[SimulatedWorld, SimulatedNode], object]


def altered(probe: str, words: dict[str, str]) -> Trouble:
    """The node's own answer to a probe, with words replaced."""

    def alter(_world: SimulatedWorld, node: SimulatedNode) -> None:
        code, text = parts(capture(node, ()))[probe]
        for old, new in words.items():
            assert old in text
            text = text.replace(old, new)
        node.probes[probe] = (code, text)

    return alter


def captured(name: str) -> Trouble:
    """The answers that a real node in trouble gave."""
    return lambda _world, node: node.probes.update(changes_of(name))


TROUBLES: dict[str, tuple[Trouble, dict[str, str], int]] = {
    "full page cache": (captured("page-cache-full"), {"page-cache": "warn", "swap": "warn"}, 0),
    "no sudo": (
        lambda _, node: node.probes.update(sudo=probes_of("healthy-fe")["sudo"]),
        {"drop-permitted": "warn"},
        0,
    ),
    "no docker group": (captured("no-docker-group"), {"docker-usable": "fail"}, 3),
    "no image": (lambda _, node: node.engine.store.clear(), {"image-present": "fail"}, 3),
    "no model": (lambda _, node: node.models.clear(), {"model-present": "fail"}, 3),
    "hung driver": (captured("nvidia-smi-hangs"), {"driver": "fail", "answers": "warn"}, 3),
    "no link": (altered("net", {"carrier:1": "carrier:0", "state:up": "state:down"}), {"cx7-usable": "fail"}, 3),
    "slow link": (altered("net", {"speed:200000": "speed:100000"}), {"cx7-speed": "warn"}, 0),
    "another host key": (lambda w, node: w.shut(node.name, "it changed", "changed-key"), {"host-key": "fail"}, 4),
    "refused login": (lambda w, node: w.shut(node.name, "Permission denied"), {"ssh": "fail"}, 4),
    "away": (lambda w, node: w.lose(node.name), {"ssh": "fail"}, 4),
}


def test_a_trouble_is_named_on_its_node_alone_and_makes_the_exit_code(tmp_path: Path) -> None:
    wrong = {}
    for name, (trouble, expected, code) in TROUBLES.items():
        lab = Lab(tmp_path / name)
        trouble(lab.world, lab.node("node2"))
        ran = lab.cli("preflight", "--json")
        found = (held(ran.document, "node2"), ran.code, held(ran.document, "node1"), held(ran.document))
        if found != (expected, code, {}, {}):
            wrong[name] = found
    assert wrong == {}


def test_a_crowd_is_read_at_a_glance_and_asked_twice_over_one_connection_each(tmp_path: Path) -> None:
    def garbage(node: SimulatedNode, words: tuple[Word, ...], stdin: str) -> Result:
        return said("\x7fELF\x02") if node.name == "node29" else SCRIPTS["facts"](node, words, stdin)

    lab = Lab(tmp_path, world=sparks(100, prefix="node", scripts={**SCRIPTS, "facts": garbage}))
    troubles = {"node7": "away", "node50": "hung driver", "node71": "slow link"}
    for node, name in troubles.items():
        TROUBLES[name][0](lab.world, lab.node(node))
    altered("clock", {"1767225600": "1767226200"})(lab.world, lab.node("node98"))
    ran = lab.cli("preflight", code=4)
    assert len(ran.out.splitlines()) < 60, ran.out
    faulty = {*troubles, "node29", "node98"}
    assert all(node in ran.out for node in faulty)
    assert lab.world.connections == len(lab.names) - 1
    asked = Counter(one.node for one in lab.received())
    assert {name: asked[name] for name in lab.names if asked[name] != 2} == {"node7": 0, "node29": 1}
    document = lab.json("preflight", code=4)
    told = {node["name"]: [*held(document, node["name"])] for node in document["nodes"]}
    expected = {"node7": ["ssh"], "node29": ["ssh"], "node50": ["driver", "answers"], "node71": ["cx7-speed"]}
    assert {name: checks for name, checks in told.items() if checks} == expected
    assert [
        (check["id"], "node98's" in check["message"]) for check in document["cluster"] if check["id"] in held(document)
    ] == [("clock-skew", True)]


def test_a_raw_capture_is_a_fixture_and_facts_are_a_document(lab: Lab) -> None:
    raw = lab.cli("facts", "node1", "--raw", code=0).out
    assert raw.startswith("sparkops-facts 1\n")
    assert "\n== end 0 " in raw
    lab.mark()
    (node,) = lab.json("facts", "node1")["nodes"]
    assert node["uname"]["machine"] == "aarch64"
    assert {one.node for one in lab.received()} == {"node1"}
    unknown = lab.json("facts", "node3", code=2)["error"]["message"]
    assert unknown == "no node node3 in the inventory (did you mean node2?)"


def test_a_fix_of_healthy_nodes_says_that_nothing_needs_one(lab: Lab) -> None:
    said = "nothing needs a fix\n"
    assert lab.cli("preflight", "--fix", code=0).err == said
    with lab.trouble("node1", "port-taken"):
        assert said not in lab.cli("preflight", "--fix", code=3).err
