"""A page for people beside the endpoint of a fleet: a deployment of the file whose recipe has no model."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from world.test_apply import GPT, write

from sparkops.session.api_key import digest
from sparkops.testing import BootRule, EngineBoot
from support.world import Lab

FIRST = {"endpoint": "node: node1"}
TWO = {"gpt": f"recipe: {GPT}, nodes: [node2]", "chat": "recipe: open-webui"}
VOLUME = "sparkops-page-chat:/app/backend/data"


@pytest.fixture
def lab(lab_of: Callable[[int], Lab]) -> Lab:
    return lab_of(3)


def container(lab: Lab, node: str = "node1") -> Any:
    """The page's container that runs on this node."""
    (found,) = [one for one in lab.world.nodes[node].engine.listed() if one.running and "-chat-page-" in one.name]
    return found


def people(lab: Lab, node: str = "node1") -> dict[str, Any]:
    there = lab.world.nodes[node]
    return dict(json.loads(there.files[f"{there.state_dir}/people/fleet-gateway/keys.json"])["keys"])


def page(lab: Lab) -> dict[str, Any]:
    (found,) = lab.json("diff")["pages"]
    return dict(found)


def up(lab: Lab, **further: str) -> None:
    write(lab, TWO, **{**FIRST, **further})
    lab.cli("apply", "--setup", code=0)


def test_apply_starts_it_beside_the_endpoint_with_a_key_of_its_own(lab: Lab) -> None:
    write(lab, TWO, **FIRST)
    assert page(lab)["action"] == "new"
    told = lab.cli("apply", "--setup", code=0)
    url = f"http://{lab.address('node1')}"
    assert f"Sign in at {url}:3000 as admin@localhost; the first password:" in told.out
    assert lab.state() == {"gpt": "serving", "fleet-gateway": "serving", "chat": "serving"}
    made, key = container(lab), lab.json("key", "--deployment", "chat")["key"]
    assert VOLUME in made.mounts
    assert (made.env["OPENAI_API_BASE_URL"], made.env["PORT"]) == (f"{url}:4000/v1", "3000")
    assert made.env["ENABLE_SIGNUP"] == "False"
    assert (made.key, [one["digest"] for one in people(lab).values()]) == (key, [digest(key)])
    assert key not in json.dumps([*made.env.items(), *made.words, *made.labels.items()])
    lab.mark()
    assert not lab.json("apply")["changed"]
    assert lab.changed() == []


def test_its_key_is_one_of_those_of_people_and_comes_back_if_somebody_ends_it(lab: Lab) -> None:
    up(lab)
    started = lab.starts()
    (named,) = lab.json("gateway", "key", "list")["keys"]
    assert named["name"] == "chat"
    before = people(lab)["chat"]["digest"]
    lab.cli("gateway", "key", "revoke", "chat", code=0)
    assert people(lab) == {}
    lab.cli("apply", code=0)
    assert people(lab)["chat"]["digest"] == before
    assert lab.starts() == started
    told = lab.cli("gateway", "key", "rotate", "chat", code=3).err
    assert "this is the key of the page chat" in told
    assert "`rm /home/nvidia/.local/state/sparkops/pages/chat/key` on node1" in told


def test_limits_of_its_key_stay_and_other_keys_are_not_touched(lab: Lab) -> None:
    up(lab)
    lab.cli("gateway", "key", "add", "ann", code=0)
    lab.cli("gateway", "key", "revoke", "chat", code=0)
    lab.cli("gateway", "key", "add", "chat", "--rpm", "7", code=0)
    ann = people(lab)["ann"]
    lab.cli("apply", code=0)
    key = lab.json("key", "--deployment", "chat")["key"]
    assert (people(lab)["chat"]["rpm"], people(lab)["chat"]["digest"]) == (7, digest(key))
    assert people(lab)["ann"] == ann


def test_its_key_opens_nothing_when_the_file_no_longer_has_it_and_it_comes_back_with_its_data(lab: Lab) -> None:
    up(lab)
    key = lab.json("key", "--deployment", "chat")["key"]
    write(lab, {"gpt": TWO["gpt"]}, **FIRST)
    found = lab.json("diff")
    assert ([one["name"] for one in found["ends"]], found["pages"]) == (["chat"], [])
    lab.mark()
    lab.cli("apply", code=0)
    assert people(lab) == {}
    assert lab.state() == {"gpt": "serving", "fleet-gateway": "serving"}
    assert not any("volume" in one.shown for one in lab.changed())
    assert not lab.json("diff")["changed"]
    write(lab, TWO, **FIRST)
    told = lab.cli("apply", code=0)
    assert (container(lab).key, "the first password" in told.out) == (key, True)


def test_another_port_or_variable_replaces_it_and_nothing_else(lab: Lab) -> None:
    up(lab)
    key, before = lab.json("key", "--deployment", "chat")["key"], lab.running()
    write(lab, {**TWO, "chat": "recipe: open-webui, port: 3001, set: {env.WEBUI_NAME: Ours}"}, **FIRST)
    assert page(lab)["why"] == [
        "env.PORT 3000 -> 3001",
        "env.WEBUI_NAME unset -> Ours",
        "port of the page on node1: 3000 -> 3001",
    ]
    lab.cli("apply", code=0)
    assert {name.split("-")[1] for _, name in before ^ lab.running()} == {"chat"}
    assert (container(lab).env["WEBUI_NAME"], container(lab).env["PORT"]) == ("Ours", "3001")
    assert lab.json("key", "--deployment", "chat")["key"] == key
    assert not lab.json("diff")["changed"]


def test_it_moves_with_the_endpoint_and_says_that_its_data_stays_behind(lab: Lab) -> None:
    up(lab)
    lab.cli("trust", "--yes", code=0)
    write(lab, TWO, endpoint="node: node3")
    (found,) = lab.json("diff")["pages"]
    assert (found["action"], found["left_behind"]) == ("move", "sparkops-page-chat on node1")
    assert "stays behind, in the volume sparkops-page-chat on node1" in lab.cli("diff").out
    lab.cli("apply", "--setup", code=0)
    assert container(lab, "node3").key == lab.json("key", "--deployment", "chat")["key"]
    assert [one.name for one in lab.world.nodes["node1"].engine.listed()] == []
    assert list(people(lab, "node3")) == ["chat"]
    assert not lab.json("diff")["changed"]


def test_stop_start_logs_and_status_know_it(lab: Lab) -> None:
    up(lab)
    (row,) = lab.json("status", "chat")["deployments"]
    assert (row["topology"], row["endpoints"][0]["url"]) == ("page", f"http://{lab.address('node1')}:3000")
    assert "a page for people" in lab.cli("status", code=0).out
    assert lab.cli("logs", "chat", code=0).out
    lab.cli("stop", "chat", code=0)
    assert lab.state()["chat"] == "stopped"
    assert page(lab)["action"] == "start"
    lab.cli("start", "chat", code=0)
    assert lab.state()["chat"] == "serving"
    assert not lab.json("diff")["changed"]
    started = lab.starts()
    for name in ("chat", "fleet-gateway"):
        lab.cli("restart", name, code=0)
    changed = {name for (_, name), at in lab.starts().items() if started[_, name] != at}
    assert {name.split("-")[1] for name in changed} == {"chat", "fleet"}
    assert "is a page" in lab.cli("key", "rotate", "--deployment", "chat", code=2).err


def test_what_serves_stays_if_it_does_not_start(lab: Lab) -> None:
    write(lab, {"gpt": TWO["gpt"]}, **FIRST)
    lab.cli("apply", code=0)
    before = lab.running()
    write(lab, TWO, **FIRST)
    lab.world.boot(BootRule(lambda _image, words: "page" in words, EngineBoot(looks=10**6)))
    ended = lab.cli("apply", "--setup", code=5)
    assert "wait for sparkops-chat-page" in ended.err
    assert (lab.running(), people(lab)) == (before, {})
    key = lab.world.nodes["node1"].files[f"{lab.world.nodes['node1'].state_dir}/pages/chat/key"]
    lab.node("node1").engine.boots.clear()
    lab.cli("apply", code=0)
    assert container(lab).key == key.strip()


@pytest.mark.parametrize(
    ("entry", "told", "cure"),
    [
        ("recipe: open-webui, topology: cluster", "a page takes only `port`, and variables", "node of the endpoint"),
        ("recipe: open-webui, nodes: [node2]", "a page takes only `port`, and variables", "node of the endpoint"),
        ("recipe: open-webui, set: {args.x: 1}", "a page takes only `port`, and variables", "node of the endpoint"),
        ("recipe: open-webui, set: {env.OPENAI_API_KEY: x}", "set.env.OPENAI_API_KEY: is set by sparkops", ""),
        ("recipe: open-webui, set: {env.MY_SECRET_KEY: x}", "set.env.MY_SECRET_KEY: is a secret", ""),
        ("recipe: open-webui, set: {env.PORT: 1}", "set.env.PORT: is set by sparkops", ""),
        ("recipe: open-webui, set: {env.WEBUI_ADMIN_EMAIL: ''}", "set.env.WEBUI_ADMIN_EMAIL: names the first user", ""),
        ("recipe: open-webui, set: {port: abc}", "port: must be between", ""),
        ("recipe: open-webui, port: 4000", "needs port 4000 of node1, which the endpoint has", "port: 3001"),
        ("recipe: open-webui, port: 22", "another process uses port 22 of node1", "port: 3001"),
        ("recipe: open-webui", "node1 lacks the image ghcr.io/open-webui", "apply --setup`"),
    ],
)
def test_a_mistake_is_refused_with_its_place_and_a_cure(lab: Lab, entry: str, told: str, cure: str) -> None:
    write(lab, {**TWO, "chat": entry}, **FIRST)
    ended = lab.cli("apply")
    assert ended.code in (2, 3)
    assert f"fleet.yml:3: chat: {told}" in ended.err
    assert cure in ended.err


def test_it_needs_an_endpoint_a_model_and_a_free_name(lab: Lab) -> None:
    write(lab, TWO)
    assert "open-webui is a page for people, and needs the fleet's `endpoint`" in lab.cli("diff", code=2).err
    write(lab, {"chat": TWO["chat"]}, **FIRST)
    assert "a page is of no use without a model" in lab.cli("diff", code=2).err
    write(lab, TWO, endpoint="node: node1, names: {auto: chat}")
    assert "endpoint.names.auto: chat is a page" in lab.cli("diff", code=2).err
    write(lab, {"gpt": TWO["gpt"]}, **FIRST)
    lab.cli("apply", code=0)
    lab.cli("gateway", "key", "add", "chat", code=0)
    write(lab, TWO, **FIRST)
    ended = lab.cli("apply", "--setup", code=3)
    assert "somebody's API key at the endpoint is called chat" in ended.err
    lab.cli("gateway", "key", "revoke", "chat", code=0)
    lab.cli("apply", "--setup", code=0)
    write(lab, {"gpt": TWO["gpt"]}, **FIRST)
    lab.cli("apply", code=0)
    lab.cli("gateway", "key", "add", "chat", code=0)
    write(lab, TWO, **FIRST)
    assert "somebody's API key at the endpoint is called chat" in lab.cli("apply", code=3).err


def test_a_deploy_says_that_it_is_a_page(lab: Lab) -> None:
    told = lab.cli("deploy", "--topology", "solo", "--recipe", "open-webui", code=2).err
    assert "no such recipe: open-webui: it is a page for people" in told


def test_a_page_of_ones_own_is_a_file_beside_that_of_the_fleet(lab: Lab) -> None:
    own = """
container: ghcr.io/open-webui/open-webui:v0.11.4
port: 3005
page: {command: bash start.sh --mine, data: /data, variables: {port: PORT, endpoint: URL, key: [KEY]}}
"""
    (lab.work / "mine.yml").write_text(own)
    up(lab)
    write(lab, {**TWO, "mine": "recipe: ./mine.yml"}, **FIRST)
    lab.cli("apply", "--setup", code=0)
    made = [one for one in lab.world.nodes["node1"].engine.listed() if "-mine-page-" in one.name]
    assert [(one.env, one.words[-3:]) for one in made] == [
        ({"PORT": "3005", "URL": f"http://{lab.address('node1')}:4000/v1"}, ("bash", "start.sh", "--mine"))
    ]
    assert set(people(lab)) == {"chat", "mine"}


def test_init_fleet_writes_it_again(lab: Lab) -> None:
    up(lab)
    write(lab, {**TWO, "chat": "recipe: open-webui, port: 3001, set: {env.WEBUI_NAME: Ours}"}, **FIRST)
    lab.cli("apply", code=0)
    lab.cli("init", "--fleet", "--force", code=0)
    assert not lab.json("diff")["changed"]
    assert "port: 3001" in (lab.work / "fleet.yml").read_text()


def test_cleanup_removes_it_and_leaves_what_people_have_in_it(lab: Lab) -> None:
    up(lab)
    lab.cli("stop", code=0)
    lab.mark()
    lab.cli("cleanup", "--yes", code=0)
    assert lab.containers() == set()
    assert not any("volume" in one.shown for one in lab.changed())


def test_without_the_node_of_the_endpoint_it_stays_as_it_is(lab: Lab) -> None:
    up(lab)
    before = lab.running()
    assert lab.json("diff", "--limit", "node2")["pages"] == []
    lab.cli("apply", "--limit", "node2", code=0)
    assert lab.running() == before


def test_another_fleet_cannot_have_a_page_of_its_name(lab: Lab) -> None:
    up(lab)
    write(lab, {"other": TWO["gpt"].replace("node2", "node3"), "chat": TWO["chat"] + ", port: 3001"})
    text = (lab.work / "fleet.yml").read_text()
    (lab.work / "fleet.yml").write_text(f"{text}endpoint: {{node: node1, port: 4001}}\nname: others\n")
    assert "chat: a page of this name is of the fleet fleet on node1" in lab.cli("apply", code=3).err


def test_another_name_takes_the_port_over_and_a_second_page_that_of_the_first(lab: Lab) -> None:
    up(lab)
    write(lab, {"gpt": TWO["gpt"], "talk": TWO["chat"]}, **FIRST)
    lab.cli("apply", code=0)
    assert {name.split("-")[1] for _, name in lab.running()} == {"gpt", "fleet", "talk"}
    write(lab, {"gpt": TWO["gpt"], "chat": TWO["chat"], "talk": TWO["chat"] + ", port: 3001"}, **FIRST)
    lab.cli("apply", code=0)
    assert set(people(lab)) == {"chat", "talk"}
    assert not lab.json("diff")["changed"]


def test_a_plan_is_the_same_an_hour_later(lab: Lab) -> None:
    up(lab)
    lab.cli("gateway", "key", "revoke", "chat", code=0)
    planned = lab.json("diff")["id"]
    lab.world.pause(3700, lab.world.cancel())
    lab.cli("apply", "--expect", planned, code=0)
    assert set(people(lab)) == {"chat"}


def test_a_key_ends_also_if_its_container_was_removed_by_hand(lab: Lab) -> None:
    up(lab)
    lab.cli("stop", "chat", "--remove", code=0)
    write(lab, {"gpt": TWO["gpt"]}, **FIRST)
    lab.cli("apply", code=0)
    assert people(lab) == {}


def test_a_lost_key_file_is_made_anew(lab: Lab) -> None:
    up(lab)
    there = lab.world.nodes["node1"]
    del there.files[f"{there.state_dir}/pages/chat/key"]
    assert page(lab)["action"] == "replace"
    lab.cli("apply", code=0)
    assert container(lab).key == lab.json("key", "--deployment", "chat")["key"]
    assert people(lab)["chat"]["digest"] == digest(container(lab).key)


@pytest.mark.parametrize("at", range(8, 16))
def test_an_apply_that_was_killed_goes_on(lab: Lab, at: int) -> None:
    write(lab, {"gpt": TWO["gpt"]}, **FIRST)
    lab.cli("apply", code=0)
    lab.cli("image", "pull", "ghcr.io/open-webui/open-webui:v0.11.4", "--limit", "node1", code=0)
    write(lab, TWO, **FIRST)
    lab.killed(at, "apply")
    lab.cli("apply", code=0)
    assert container(lab).key == lab.json("key", "--deployment", "chat")["key"]
    assert people(lab)["chat"]["digest"] == digest(container(lab).key)
    assert not lab.json("diff")["changed"]


def test_its_status_asks_it_with_no_key_of_the_node(lab: Lab) -> None:
    up(lab)
    lab.mark()
    lab.cli("status", code=0)
    asked = [one.shown for one in lab.received() if "--kind page" in one.shown or "--kind gateway" in one.shown]
    assert len(asked) == 2
    assert not any("sparkops/key" in text for text in asked)
