"""The endpoint of a fleet when nodes are away, keys change, containers hang, and others work on the same nodes."""

from collections.abc import Callable

import pytest
from world.test_apply import GPT, QWEN, write
from world.test_fleet_endpoint import FIRST, MOVED, TWO, config, endpoint, gateways, routes

from sparkops.core.proxy_image import DEFAULT, EARLIER
from sparkops.testing import BootRule, EngineBoot
from support.world import Lab

SMALL = "alongside: true, allow: [memory-fits], set: {args.gpu-memory-utilization: 0.2}"


@pytest.fixture
def lab(lab_of: Callable[[int], Lab]) -> Lab:
    return lab_of(4)


def applied(lab: Lab) -> None:
    write(lab, TWO, **FIRST)
    lab.cli("apply", code=0)


def sent(lab: Lab) -> list[tuple[str, str]]:
    return [(one.node, " ".join(one.shown.split()[:2])) for one in lab.changed()]


def test_clients_are_routed_to_the_new_place_before_the_old_one_makes_room(lab: Lab) -> None:
    write(lab, {"chat": TWO["chat"]}, **FIRST)
    lab.cli("apply", code=0)
    write(lab, {"chat": MOVED["chat"], "other": f"recipe: {QWEN}, nodes: [node2]"}, **FIRST)
    lab.mark()
    lab.cli("apply", code=0)
    seen = sent(lab)
    assert seen.index(("node4", "docker run")) < seen.index(("node1", "@file write"))
    assert seen.index(("node1", "@file write")) < seen.index(("node2", "@container stop"))
    assert routes(lab)["auto"] == {"node4"}


def test_one_that_is_replaced_leads_to_the_old_places_until_the_new_ones_serve(lab: Lab) -> None:
    for node in lab.world.nodes.values():
        node.engine.add_image(EARLIER[0])
    applied(lab)
    lab.write_inventory(proxy_image=EARLIER[0])
    write(lab, MOVED, **FIRST)
    assert endpoint(lab)["action"] == "replace"
    lab.mark()
    lab.cli("apply", code=0)
    seen = sent(lab)
    starts, moved = seen.index(("node1", "docker run")), seen.index(("node4", "docker run"))
    assert starts < moved < max(at for at, what in enumerate(seen) if what == ("node1", "@file write"))
    assert (len(gateways(lab, "node1")), routes(lab)["auto"]) == (1, {"node4"})


def test_a_sick_deployment_that_does_not_change_brings_nothing_back(lab: Lab) -> None:
    sick = {**TWO, "chat": f"recipe: {GPT}, nodes: [node2], set: {{args.max-num-seqs: 7}}"}
    write(lab, sick, **FIRST)
    lab.cli("apply", code=0)
    lab.world.boot(BootRule.flag("7", EngineBoot(looks=3, crashes=True)))
    lab.fault("node2", "engine-killed")
    write(lab, {**sick, "other": TWO["other"].replace("node3", "node4")}, **FIRST)
    lab.cli("apply", code=5)
    assert [node for node, name in lab.running() if "-other-" in name] == ["node4"]


def test_files_in_the_home_of_another_user_are_not_taken_for_those_that_the_container_reads(lab: Lab) -> None:
    applied(lab)
    node = lab.node("node1")
    node.home = "/home/other"
    assert endpoint(lab)["action"] == "replace"
    lab.cli("apply", code=0)
    (one,) = gateways(lab, "node1")
    assert [mount for mount in one.mounts if mount.startswith("/home/other/")]
    assert not lab.json("apply")["changed"]


def test_without_its_node_the_deployments_still_move_and_the_endpoint_stays(lab: Lab) -> None:
    applied(lab)
    lab.world.lose("node1")
    assert lab.json("diff", code=4)["endpoint"] is None
    lab.cli("apply", code=4)
    write(lab, MOVED, **FIRST)
    ended = lab.cli("apply", "--limit", "node2,node3,node4", code=0)
    assert "the endpoint on node1 stays as it is" in ended.err
    lab.world.heal("node1")
    assert endpoint(lab)["action"] == "routes"
    lab.cli("apply", code=0)
    assert routes(lab)["auto"] == {"node4"}


def test_an_apply_ends_no_endpoint_of_nodes_that_it_was_not_given(lab: Lab) -> None:
    write(lab, {"chat": TWO["chat"]}, **FIRST)
    lab.cli("apply", "--limit", "node1,node2", code=0)
    write(lab, {"other": TWO["other"]})
    lab.cli("apply", "--limit", "node3,node4", code=0)
    assert len(gateways(lab, "node1")) == 1


def test_a_rotated_key_is_told_and_clients_are_sent_past_the_endpoint_until_it_knows_it(lab: Lab) -> None:
    applied(lab)

    def url() -> str:
        return str(lab.json("endpoint", "chat", "--for", "openai")["variables"]["OPENAI_BASE_URL"])

    at = url()
    assert at == endpoint(lab)["url"]
    assert "refuses the new one" in lab.cli("key", "rotate", "--deployment", "chat", code=0).err
    assert url() == f"http://{lab.address('node2')}:8000/v1"
    lab.cli("apply", code=0)
    assert url() == at


def test_a_kill_between_stop_and_start_is_seen_and_an_apply_settles_it(lab: Lab) -> None:
    for node in lab.world.nodes.values():
        node.engine.add_image(EARLIER[0])
    applied(lab)
    downs = 0
    for at in range(1, 60):
        lab.write_inventory(proxy_image=EARLIER[0] if at % 2 else DEFAULT)
        if not lab.killed(at, "apply"):
            break
        shown = lab.cli("status", "--json")
        if not gateways(lab, "node1"):
            downs += 1
            assert (shown.code, bool(shown.document["cut_off"])) == (5, True)
        lab.cli("apply", code=0)
        assert lab.json("status")["cut_off"] == []
        assert len(gateways(lab, "node1")) == 1
    assert downs


def test_an_apply_settles_a_stop_of_it_that_was_killed(lab: Lab) -> None:
    applied(lab)
    for at in range(1, 12):
        lab.killed(at, "stop", "fleet-gateway")
        lab.cli("apply", code=0)
        assert lab.json("status")["cut_off"] == []


def test_one_that_hangs_is_replaced(lab: Lab) -> None:
    applied(lab)
    (one,) = gateways(lab, "node1")
    one.silent = "health"
    assert endpoint(lab)["action"] == "replace"
    lab.cli("apply", code=0)
    assert lab.state()["fleet-gateway"] == "serving"
    assert not [name for _, name in lab.containers() if name.endswith(".aside")]


def test_the_order_of_the_file_changes_nothing(lab: Lab) -> None:
    applied(lab)
    write(lab, dict(reversed(TWO.items())), **FIRST)
    assert not lab.json("diff")["changed"]


def test_a_plan_with_a_new_key_has_another_id_for_other_routes(lab: Lab) -> None:
    both = {name: f"recipe: {recipe}, nodes: [node2], {SMALL}" for name, recipe in (("chat", GPT), ("other", QWEN))}
    ids = set()
    for name in both:
        write(lab, both, endpoint=f"node: node1, names: {{auto: {name}}}")
        ids.add(lab.json("diff")["id"])
    assert len(ids) == 2


@pytest.mark.parametrize(
    ("deployments", "front", "told"),
    [
        (
            {**TWO, "more": f"recipe: {GPT}, nodes: [node4], api-key: false"},
            "node: node1",
            "one with an API key and one",
        ),
        (
            {"chat": f"recipe: {GPT}, topology: cluster, nodes: [node1, node2], executor: ray"},
            "node: node1, port: 6379",
            "needs port 6379 of node1 (Ray), which the endpoint has",
        ),
    ],
)
def test_what_cannot_stand_beside_it_is_refused(lab: Lab, deployments: dict[str, str], front: str, told: str) -> None:
    write(lab, deployments, endpoint=front)
    assert told in lab.cli("apply", code=3).err


def test_what_a_node_says_of_its_routes_is_only_shown(lab: Lab) -> None:
    applied(lab)
    node = lab.node("node1")
    (path,) = (path for path in node.files if path.endswith("/routes.json"))
    hostile = '{"sparkops": {"models": {"": ["a\\nb", "\\u001b[31mred"]}}, "model_list": 3}'
    for text in ("{", "[" * 10_000, hostile, '{"routes": {"\\u001b[31mred": {}, "x": {"servers": [3, {"url": []}]}}}'):
        node.files[path] = text
        assert endpoint(lab)["action"] == "routes"
        assert "\x1b" not in lab.cli("status").out
    lab.cli("apply", code=0)
    assert config(lab)["routes"]


def test_no_routes_of_earlier_ones_stay_on_the_node(lab: Lab) -> None:
    applied(lab)
    write(lab, TWO, endpoint="node: node1, port: 4100")
    lab.cli("apply", code=0)
    assert len([path for path in lab.node("node1").files if path.endswith("/routes.json")]) == 1


def test_a_deployment_takes_its_key_along_to_a_node_without_one(lab: Lab) -> None:
    for name, node, recipe in (("chat", "node2", GPT), ("other", "node3", QWEN)):
        lab.deploy("solo", "--recipe", recipe, "--name", name, "--limit", node)
    write(lab, TWO, **FIRST)
    lab.cli("apply", code=0)
    before = lab.json("key", "--deployment", "other")["key"]
    assert before != lab.json("key", "--deployment", "chat")["key"]
    write(lab, {**TWO, "other": TWO["other"].replace("node3", "node4")}, **FIRST)
    lab.cli("apply", code=0)
    assert lab.json("key", "--deployment", "other")["key"] == before


def test_what_was_deployed_by_hand_is_known_at_the_endpoint_too(lab: Lab) -> None:
    lab.deploy("solo", "--recipe", GPT, "--name", "chat", "--limit", "node2")
    write(lab, {"chat": TWO["chat"]}, **FIRST)
    lab.cli("apply", code=0)
    assert lab.json("endpoint", "chat", "--for", "openai")["variables"]["OPENAI_BASE_URL"] == endpoint(lab)["url"]
    assert "refuses the new one" in lab.cli("key", "rotate", code=0).err
    assert "own address" in lab.cli("endpoint", "chat", "--for", "openai", code=0).err
