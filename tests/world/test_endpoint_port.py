"""One port for clients: the same for every topology, chosen with --port, kept where an earlier release put it."""

import hashlib
import json
import re
import shlex

import pytest


def urls(document):
    return [one["url"] for one in document["endpoints"]]


@pytest.fixture
def earlier(lab):
    """A 2x-solo of an earlier release: servers on 8000, the proxy on 4000."""
    lab.deploy("2x-solo")
    for node in lab.world.nodes.values():
        for one in list(node.engine.listed()):
            revision = json.loads(one.labels["sparkops.revision"])
            for member in revision["members"]:
                member["port"] = 4000 if member["role"] == "proxy" else 8000
            text = json.dumps(revision, sort_keys=True, separators=(",", ":"))
            digest = hashlib.sha256(text.encode()).hexdigest()
            one.words = tuple(word.replace("8000", "4000").replace("8001", "8000") for word in one.words)
            node.engine.rename(one.name, one.name.replace(one.labels["sparkops.hash"][:8], digest[:8]))
            one.labels |= {"sparkops.revision": text, "sparkops.hash": digest}
    return lab


def members(lab):
    """The members of what runs, as its label has them."""
    one = next(one for one in lab.world.nodes["node1"].engine.listed() if one.running)
    return json.loads(one.labels["sparkops.revision"])["members"]


def test_every_topology_serves_at_one_address(lab):
    addresses = {tuple(urls(lab.deploy(topology))) for topology in ("2x-solo", "cluster", "solo")}
    assert addresses == {("http://192.0.2.1:8000/v1",)}


def test_the_servers_behind_a_proxy_listen_on_the_next_port(lab):
    lab.deploy("2x-solo", "--port", 9000)
    ports = {one["role"]: one["port"] for one in members(lab)}
    assert ports == {"server": 9001, "proxy": 9000}


def test_the_port_of_the_command_wins_over_the_recipe_and_that_over_the_inventory(lab):
    lab.write_inventory(api_port=7000)
    (lab.work / "mine.yml").write_text("extends: openai-gpt-oss-120b\nport: 7100\n")
    assert urls(lab.deploy("solo")) == ["http://192.0.2.1:7000/v1"]
    assert urls(lab.deploy("solo", "--recipe", "mine.yml")) == ["http://192.0.2.1:7100/v1"]
    assert urls(lab.deploy("solo", "--recipe", "mine.yml", "--port", 7200)) == ["http://192.0.2.1:7200/v1"]


@pytest.mark.parametrize("wrong", ["port=0", "port=65535", "port=http", "port="])
def test_a_port_that_cannot_be_is_refused(lab, wrong):
    assert "--set port=" in lab.json("plan", "--topology", "solo", "--set", wrong, code=2)["error"]["message"]


def test_a_pair_of_an_earlier_release_keeps_its_ports_until_something_changes(earlier):
    assert earlier.deploy("2x-solo")["changed"] is False
    plan = earlier.json("plan", "--topology", "2x-solo", "--set", "args.max-num-seqs=4")
    moved = "the address http://192.0.2.1:4000/v1 ends; the new one is http://192.0.2.1:8000/v1"
    assert plan["impact"]["clients"] == [moved]
    assert urls(earlier.deploy("2x-solo", "--set", "args.max-num-seqs=4")) == ["http://192.0.2.1:8000/v1"]


def test_its_port_can_be_kept_or_moved_by_the_option(earlier):
    assert urls(earlier.deploy("2x-solo", "--port", 8000)) == ["http://192.0.2.1:8000/v1"]
    assert urls(earlier.deploy("cluster", "--port", 4000)) == ["http://192.0.2.1:4000/v1"]


def test_two_pairs_beside_each_other_share_no_port(lab):
    lab.deploy("2x-solo", "--name", "one", "--set", "args.gpu-memory-utilization=0.4", "--allow", "memory-fits")
    second = lab.json(
        "plan", "--topology", "2x-solo", "--name", "two", "--alongside",
        "--set", "args.gpu-memory-utilization=0.4", "--allow", "memory-fits",
    )  # fmt: skip
    assert second["impact"]["urls"] == ["http://192.0.2.1:8002/v1"]


def test_a_plan_begins_with_what_is_replaced_and_what_clients_see(lab):
    lab.deploy("cluster")
    plan = lab.cli(
        "plan", "--topology", "solo", "--recipe", "qwen3-next-80b-a3b-instruct-fp8", "--no-api-key", code=0
    ).out.splitlines()
    assert plan[1].split()[:2] == ["replaces", "openai-gpt-oss-120b"]
    assert plan[2].split()[:2] == ["clients", "http://192.0.2.1:8000/v1,"]
    assert "the model's name changes from openai/gpt-oss-120b to" in plan[3]


def test_a_context_that_shrinks_is_said_with_the_recipe_that_has_more(lab):
    lab.deploy("cluster")
    impact = lab.json("plan", "--topology", "solo")["impact"]
    assert impact["clients"] == ["the context shrinks from 32768 to 4096 tokens"]
    assert impact["longer_context"] == {"recipe": "openai-gpt-oss-120b-community", "context": 131072}


def test_a_short_plan_has_no_settings_and_no_steps_but_the_same_id(lab):
    whole, short = lab.json("plan", "--topology", "solo"), lab.json("plan", "--topology", "solo", "--short")
    assert {*whole} - {*short} == {"settings", "steps"}
    assert short["id"] == whole["id"]
    assert len(lab.cli("plan", "--topology", "solo", "--short", code=0).out.splitlines()) < 20


def test_a_plan_ends_with_the_command_that_runs_it(lab):
    options = ("--topology", "solo", "--short", "--set", 'args.limit-mm-per-prompt={"image": 1}', "--", "--seed", 7)
    last = lab.cli("--limit", "node2", "plan", *options, code=0).out.splitlines()[-1]
    command = shlex.split(last.partition("`")[2].rstrip("`"))
    assert (command[0], "--short" in command) == ("sparkops", False)
    lab.cli(*command[1:], lab=False, code=0)
    assert lab.serves("node2")


def test_how_long_a_deploy_takes_is_known_from_the_last_one_of_the_same_recipe_image_and_topology(lab):
    def seconds(topology):
        return lab.json("plan", "--topology", topology)["impact"]["seconds"]

    assert seconds("solo") is None
    lab.deploy("solo")
    lab.deploy("cluster")
    assert seconds("solo") >= 0
    assert seconds("2x-solo") is None
    shown = lab.cli("plan", "--topology", "solo", "--short", code=0).out
    assert [line.split()[0] for line in shown.splitlines()[1:4]] == ["replaces", "clients", "they"]
    assert "  down      about " in shown


def test_a_damaged_load_in_the_history_of_a_node_is_ignored(lab):
    lab.deploy("solo")
    files = lab.node("node1").files
    (path,) = [path for path in files if path.endswith("/sparkops/history")]
    for damage in ('"seconds":-1', '"seconds":"9"', '"seconds":true', '"seconds":1e99'):
        files[path] = re.sub(r'"seconds":\d+', damage, files[path])
        assert lab.json("plan", "--topology", "solo")["impact"]["seconds"] is None, damage
        files[path] = re.sub(r'"seconds":[^}]+', '"seconds":3', files[path])


def test_too_little_context_for_claude_code_is_warned_of_beside_the_variables(lab):
    lab.deploy("solo")
    told = lab.cli("endpoint", "--for", "claude-code", code=0)
    assert told.err == (
        "warning: Claude Code needs about 32768 tokens of context; this deployment has 4096: "
        "deploy it with --recipe openai-gpt-oss-120b-community\n"
    )
    assert "warning" not in told.out
    assert lab.cli("endpoint", "--for", "openai", code=0).err == ""
    lab.deploy("cluster")
    assert lab.cli("endpoint", "--for", "claude-code", code=0).err == ""
