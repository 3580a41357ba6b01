"""Whole preflights over simulated nodes: how they are reached, judged, and what is told."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from sparkops.checks import CHECKS
from sparkops.core.plan import Result, Script, Word
from sparkops.errors import Refused, Unreachable, UsageError
from sparkops.report.answers.preflight import preflight as rendered
from sparkops.report.text import How, Ink
from sparkops.testing import COMMANDS, SCRIPTS, SimulatedNode, SimulatedWorld
from sparkops.testing.facts import capture
from sparkops.testing.operator import Operator
from sparkops.testing.scripts import said
from sparkops.testing.sparks import sparks
from support.captures import changes_of, parts, probes_of
from support.world import Lab


def statuses(document: Any, node: str | None = None) -> dict[str, str]:
    found = next((one["checks"] for one in document["nodes"] if one["name"] == node), document["cluster"])
    return {check["id"]: check["status"] for check in found}


def held(document: Any, node: str | None = None) -> dict[str, str]:
    return {check: status for check, status in statuses(document, node).items() if status in ("warn", "fail")}


def lines(document: Any, verbose: bool = False) -> str:
    return "\n".join(rendered(document, Ink(), How(verbose)))


def test_healthy_nodes_pass_in_two_waves_over_one_connection_each() -> None:
    world = sparks(3)
    answer = Operator(world).preflight()
    assert (answer.code, answer.document["verdict"]) == (0, "pass")
    assert world.connections == 3
    asked = Counter((sent.node, sent.command.words[0]) for sent in world.sent)
    assert set(asked) == {(name, Script(script)) for name in world.nodes for script in ("facts", "peers")}
    assert set(asked.values()) == {1}
    assert all(sent.command.reads for sent in world.sent)


def test_every_check_has_a_verdict_where_it_belongs() -> None:
    document = Operator(sparks()).preflight().document
    each = {check.id for check in CHECKS if check.each}
    assert all({check["id"] for check in node["checks"]} == each for node in document["nodes"])
    assert {check["id"] for check in document["cluster"]} == {check.id for check in CHECKS} - each


def test_one_node_is_judged_for_solo_and_nobody_asks_of_its_link() -> None:
    document = Operator(sparks(), limit="spark1").preflight().document
    assert document["topology"] == "solo"
    assert [node["name"] for node in document["nodes"]] == ["spark1"]
    assert statuses(document, "spark1")["cx7-usable"] == "skip"


def test_a_node_that_is_away_keeps_nobody_from_being_judged() -> None:
    world = sparks(3)
    world.lose("spark2")
    answer = Operator(world).preflight()
    assert isinstance(answer.error, Unreachable)
    assert answer.code == 4
    by_name = {node["name"]: node for node in answer.document["nodes"]}
    assert [by_name[name]["reachable"] for name in world.nodes] == [True, False, True]
    assert statuses(answer.document, "spark2")["ssh"] == "fail"
    assert statuses(answer.document, "spark2")["memory-fits"] == "skip"
    assert statuses(answer.document, "spark1") == statuses(answer.document, "spark3")
    assert statuses(answer.document, "spark1")["cx7-pings"] == "pass"


def test_it_passes_while_what_was_deployed_serves(tmp_path: Path) -> None:
    topologies = ("solo", "2x-solo", "cluster")
    verdicts = {}
    for deployed in topologies:
        lab = Lab(tmp_path / deployed)
        lab.deploy(deployed)
        for judged in topologies:
            verdicts[deployed, judged] = lab.json("preflight", "--topology", judged)["verdict"]
    assert verdicts == dict.fromkeys(product(topologies, topologies), "pass")


def test_a_model_that_is_missing_on_one_node_fails_there() -> None:
    world = sparks()
    world.nodes["spark2"].models.clear()
    answer = Operator(world).preflight()
    assert isinstance(answer.error, Refused)
    assert answer.code == 3
    assert statuses(answer.document, "spark2")["model-present"] == "fail"
    assert "sparkops model fetch openai/gpt-oss-120b" in lines(answer.document)
    assert "fail  model-present: spark2: the model openai/gpt-oss-120b is not in the cache" in lines(answer.document)


def test_nodes_that_agree_are_told_of_together_and_worst_comes_first() -> None:
    world = sparks(4)
    for node in world.nodes.values():
        node.models.clear()
        node.total_kib = 118_000_000
    told = lines(Operator(world).preflight().document).splitlines()
    firsts = [line.split()[0] for line in told if line and not line.startswith(" ")]
    assert "fail  model-present: 4 nodes: the model openai/gpt-oss-120b is not in the cache" in told
    assert firsts == sorted(firsts[:-1], key=["fail", "warn"].index) + ["fail"]


def test_many_nodes_with_words_of_their_own_are_still_few_lines() -> None:
    world = sparks(40)
    for name in list(world.nodes)[1:]:
        world.shut(name, f"no answer from {name}")
    assert len(lines(Operator(world).preflight().document).splitlines()) < 20


def test_only_reads_no_more_than_the_checks_need() -> None:
    world = sparks()
    document = Operator(world).preflight(only=("uptime", "kernel")).document
    assert statuses(document, "spark1") == {"uptime": "pass", "kernel": "pass"}
    assert [sent.command.words[-2:] for sent in world.sent] == [("--only", "uname,boot,cmdline")] * 2


def test_skip_leaves_a_check_out_and_its_wave_too() -> None:
    world = sparks()
    document = Operator(world).preflight(skip=("cx7-pings",)).document
    assert "cx7-pings" not in statuses(document, "spark1")
    assert {sent.command.words[0] for sent in world.sent} == {Script("facts")}


def test_an_unknown_check_is_wrong_usage_that_names_the_nearest() -> None:
    with pytest.raises(UsageError, match="uptime"):
        Operator(sparks()).preflight(skip=("uptimes",))


def no_linger(world: SimulatedWorld) -> SimulatedWorld:
    for node in world.nodes.values():
        node.probes = {"linger": (0, "no"), "logind": (0, "")}
    return world


def test_a_fix_without_a_terminal_touches_nothing_but_by_yes() -> None:
    world = no_linger(sparks())
    refused = Operator(world).preflight(fix=True)
    assert isinstance(refused.error, Refused)
    assert all(sent.command.reads for sent in world.sent)
    assert [step["title"] for step in refused.document["plan"]] == ["note it in the manifest", "let nvidia linger"] * 2


def test_what_is_mended_is_mended_under_the_lock_and_asked_again() -> None:
    def linger(node: SimulatedNode, words: tuple[Word, ...], _stdin: str) -> Result:
        assert (node.lock, words) == (node.lock or "none", ("loginctl", "enable-linger", "nvidia"))
        node.probes = {}
        return said()

    answer = Operator(no_linger(sparks(commands={**COMMANDS, "loginctl": linger}))).preflight(fix=True, yes=True)
    assert answer.document["verdict"] == "pass"
    assert statuses(answer.document, "spark2")["linger"] == "fixed"
    assert "fixed linger: 2 nodes: mended" in lines(answer.document)


def test_a_step_that_fails_is_told_and_the_rest_is_mended() -> None:
    def linger(node: SimulatedNode, _words: tuple[Word, ...], _stdin: str) -> Result:
        if node.name == "spark1":
            return said(code=1, errors="Could not enable linger: Access denied\n")
        node.probes = {}
        return said()

    answer = Operator(no_linger(sparks(commands={**COMMANDS, "loginctl": linger}))).preflight(fix=True, yes=True)
    assert (answer.code, answer.document["verdict"]) == (5, "warn")
    assert [statuses(answer.document, name)["linger"] for name in ("spark1", "spark2")] == ["warn", "fixed"]


def test_what_a_fix_switched_on_is_listed_and_goes_with_a_cleanup() -> None:
    asked: list[tuple[str, str]] = []

    def linger(node: SimulatedNode, words: tuple[Word, ...], _stdin: str) -> Result:
        asked.append((node.name, str(words[1])))
        node.probes = {}
        return said()

    operator = Operator(no_linger(sparks(commands={**COMMANDS, "loginctl": linger})))
    operator.preflight(fix=True, yes=True)
    told = operator.cleanup()
    assert [(one["kind"], one["what"]) for one in told.document["nodes"][0]["entries"]] == [("linger", "nvidia")]
    assert sorted(asked[2:]) == [("spark1", "disable-linger"), ("spark2", "disable-linger")]
    assert (told.code, [node["left"] for node in told.document["nodes"]]) == (0, [[], []])


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
    "no image": (lambda _, node: node.engine.images.clear(), {"image-present": "fail"}, 3),
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
