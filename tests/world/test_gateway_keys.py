"""`gateway key` and `gateway usage`: the file of people's keys on the endpoint's node, which goes where it goes."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from world.test_apply import GPT, write

from sparkops.testing import Trouble
from support.world import Lab

CHAT = {"chat": f"recipe: {GPT}, nodes: [node2]"}


@pytest.fixture
def lab(lab_of: Callable[[int], Lab]) -> Lab:
    found = lab_of(3)
    at(found, "node: node1, names: {auto: chat}")
    return found


def at(lab: Lab, front: str) -> None:
    write(lab, CHAT, endpoint=front)
    lab.cli("apply", code=0)


def path(lab: Lab, node: str = "node1", file: str = "keys") -> str:
    return f"{lab.node(node).state_dir}/people/fleet-gateway/{file}.json"


def keys(lab: Lab, node: str = "node1") -> dict[str, Any]:
    return dict(json.loads(lab.node(node).files[path(lab, node)])["keys"])


def test_a_key_is_shown_once_and_stored_as_a_digest(lab: Lab) -> None:
    words = (
        "--models",
        "auto",
        "--rpm",
        "60",
        "--parallel",
        "4",
        "--tokens-per-day",
        "1000",
        "--expires",
        "2030-01-31",
    )
    made = lab.json("gateway", "key", "add", "anna", *words)
    assert made["key"].startswith("sk-")
    assert made["url"].endswith(":4000/v1")
    limits = {"models": ["auto"], "rpm": 60, "parallel": 4, "tokens_per_day": 1000, "expires": "2030-01-31"}
    (entry,) = keys(lab).values()
    assert {name: entry[name] for name in limits} == limits
    assert made["key"] not in lab.node("node1").files[path(lab)]
    assert lab.node("node1").modes[path(lab)] == "600"
    (listed,) = lab.json("gateway", "key", "list")["keys"]
    assert listed == {"name": "anna", "added": entry["added"], "expired": False, "tokens_today": 0, **limits}
    assert made["key"] not in lab.cli("history").out + lab.cli("gateway", "key", "list").out


def test_a_rotated_key_keeps_its_limits_and_a_revoked_one_is_gone(lab: Lab) -> None:
    lab.json("gateway", "key", "add", "anna", "--rpm", "5")
    lab.json("gateway", "key", "add", "bob")
    before = keys(lab)
    lab.json("gateway", "key", "rotate", "anna")
    after = keys(lab)
    assert after["bob"] == before["bob"]
    assert after["anna"]["digest"] != before["anna"]["digest"]
    assert after["anna"]["rpm"] == 5
    assert lab.json("gateway", "key", "revoke", "anna")["left"] == 1
    assert set(keys(lab)) == {"bob"}


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("add", "anna"), 3, "anna has a key already"),
        (("rotate", "bob"), 2, "bob has no key"),
        (("revoke", "bob"), 2, "those with a key: anna"),
        (("add", "Bob"), 2, "small letters"),
        (("add", "a b"), 2, "small letters"),
        (("add", "bob", "--rpm", "0"), 2, "--rpm"),
        (("add", "bob", "--expires", "tomorrow"), 2, "2027-01-31"),
        (("add", "bob", "--expires", "2020-01-31"), 2, "is over"),
        (("add", "bob", "--gateway", "other"), 2, "fleet-gateway"),
        (("add",), 2, "NAME"),
        (("adds", "bob"), 2, "gateway key add`"),
    ],
)
def test_what_cannot_be_is_refused_and_changes_nothing(lab: Lab, words: tuple[str, ...], code: int, told: str) -> None:
    lab.json("gateway", "key", "add", "anna")
    before = lab.node("node1").files[path(lab)]
    assert told in lab.cli("gateway", "key", *words, code=code).err
    assert lab.node("node1").files[path(lab)] == before


def test_a_model_that_is_not_there_is_told(lab: Lab) -> None:
    found = lab.cli("gateway", "key", "add", "anna", "--models", "auto,nothing", code=0)
    assert "no model nothing now" in found.err


def test_without_an_endpoint_it_says_what_to_write(lab_of: Callable[[int], Lab]) -> None:
    lab = lab_of(2)
    assert "`endpoint`" in lab.cli("gateway", "key", "add", "anna", code=3).err


def test_a_file_that_cannot_be_read_is_left_as_it_is(lab: Lab) -> None:
    lab.json("gateway", "key", "add", "anna")
    lab.node("node1").files[path(lab)] = '{"keys": {"anna": {"dig'
    for words in (("add", "bob"), ("list",), ("revoke", "anna")):
        assert "goes on with the keys that it had" in lab.cli("gateway", "key", *words, code=3).err
    assert "nobody used" in lab.cli("gateway", "usage", code=0).out
    at(lab, "node: node1, names: {auto: chat, best: chat}")
    for front in ("node: node3", "node: node1, port: 4100"):
        write(lab, CHAT, endpoint=front)
        assert "would know nobody's key" in lab.cli("apply", code=3).err
    assert lab.node("node1").files[path(lab)] == '{"keys": {"anna": {"dig'


def test_the_keys_go_where_the_endpoint_goes_and_an_old_copy_never_comes_back(lab: Lab) -> None:
    lab.json("gateway", "key", "add", "anna")
    at(lab, "node: node3")
    assert set(keys(lab, "node3")) == {"anna"}
    assert path(lab) not in lab.node("node1").files, "it moved"
    lab.json("gateway", "key", "revoke", "anna")
    lab.json("gateway", "key", "add", "bob")
    at(lab, "node: node1")
    assert set(keys(lab, "node1")) == {"bob"}
    assert [one["name"] for one in lab.json("gateway", "key", "list")["keys"]] == ["bob"]


def test_the_keys_stay_when_the_endpoint_ends_and_come_back_with_the_next(lab: Lab) -> None:
    lab.json("gateway", "key", "add", "anna")
    write(lab, CHAT)
    lab.cli("apply", code=0)
    at(lab, "node: node3")
    assert set(keys(lab, "node3")) == {"anna"}


def test_a_node_that_had_no_endpoint_gives_no_keys(lab: Lab) -> None:
    lab.json("gateway", "key", "add", "anna")
    planted = json.dumps({"serial": 10**9, "keys": {"eve": {"digest": "ab"}}})
    for node in ("node2", "node3"):
        lab.node(node).files[path(lab, node)] = planted
    assert [one["name"] for one in lab.json("gateway", "key", "list")["keys"]] == ["anna"]
    lab.json("gateway", "key", "add", "bob")
    at(lab, "node: node1, port: 4100")
    assert set(keys(lab)) == {"anna", "bob"}


def test_a_new_port_keeps_the_keys(lab: Lab) -> None:
    lab.json("gateway", "key", "add", "anna")
    at(lab, "node: node1, port: 4100")
    assert set(keys(lab)) == {"anna"}


def test_a_killed_change_leaves_the_old_file_or_the_new_one(lab: Lab) -> None:
    lab.json("gateway", "key", "add", "anna")
    for place in range(1, 40):
        lab.anew(troubles=[Trouble("kill", place)])
        lab.cli("gateway", "key", "add", "bob")
        lab.anew()
        if "bob" in keys(lab):
            break
        assert set(keys(lab)) == {"anna"}
    assert set(keys(lab)) == {"anna", "bob"}
    lab.json("gateway", "key", "add", "carl")


def test_usage_is_summed_up_over_days(lab: Lab) -> None:
    assert "nobody used" in lab.cli("gateway", "usage", code=0).out
    today = lab.json("gateway", "usage")["until"]
    sums = {"requests": 2, "refused": 1, "tokens_in": 10, "tokens_out": 5, "seconds": 1.5}
    days = {today: {"anna": {"m": sums}, "own key": {"m": sums}}, "2020-01-01": {"anna": {"m": sums}}}
    lab.node("node1").files[path(lab, file="usage")] = json.dumps({"days": days})
    lab.json("gateway", "key", "add", "anna")
    assert [one["name"] for one in lab.json("gateway", "usage")["usage"]] == ["anna", "own key"]
    assert lab.json("gateway", "usage", "--days", "30")["usage"][0] == {"name": "anna", "model": "m", **sums}
    assert lab.json("gateway", "key", "list")["keys"][0]["tokens_today"] == 15
    assert "anna" in lab.cli("gateway", "usage", code=0).out


def test_the_log_of_the_endpoint_needs_no_name_if_there_is_one(lab: Lab) -> None:
    (name,) = [name for _, name in lab.running() if "-gateway-" in name]
    (row,) = lab.json("gateway", "logs", "--tail", "5")["logs"]
    assert (row["node"], row["container"]) == ("node1", name)
    assert lab.cli("gateway", "logs", code=0).out == lab.cli("logs", "fleet-gateway", code=0).out
    assert "there is no endpoint other" in lab.cli("gateway", "logs", "--gateway", "other", code=2).err
    assert "--follow cannot be used with --json" in lab.cli("gateway", "logs", "--follow", "--json", code=2).err
