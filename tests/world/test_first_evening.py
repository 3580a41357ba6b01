"""The verbs around a deployment that serves: logs, key, endpoint, facts, the run log, and what only a file says."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from sparkops.core.facts import parse
from support.person import THEIRS
from support.world import Lab

GPT = "openai-gpt-oss-120b"


@pytest.fixture
def serving(lab: Lab) -> Lab:
    lab.deploy("2x-solo")
    return lab


def keys_in_force(lab: Lab) -> set[str | None]:
    return {
        one.key for node in lab.world.nodes.values() for one in node.engine.listed() if one.running and one.key_file
    }


def test_logs_show_every_part_and_previous_what_ran_before(serving: Lab) -> None:
    lab = serving
    entries = lab.json("logs")["logs"]
    assert sorted(entry["container"].rsplit("-", 2)[1] for entry in entries) == ["proxy", "server", "server"]
    assert any("Application startup complete" in entry["text"] for entry in entries)
    lab.deploy("2x-solo", "--set", "args.max-model-len=2048")
    previous = lab.json("logs", "--previous")["logs"]
    assert {entry["container"] for entry in entries} == {entry["container"] for entry in previous}
    shown = lab.cli("logs", "--tail", "1", code=0).out
    assert shown.count("==> ") == 3
    assert shown.index("==> node1") < shown.index("==> node2")
    assert (shown.count("Application startup complete"), shown.count("Starting to load")) == (3, 0)


def test_the_log_of_what_was_removed_is_kept(lab_of: Callable[[int], Lab]) -> None:
    lab = lab_of(1)
    with lab.trouble("node1", "crash-while-loading"):
        lab.deploy("solo", code=5)
    (entry,) = lab.json("logs", "--previous")["logs"]
    assert "died unexpectedly" in entry["text"]
    lab.deploy("solo")
    lab.json("stop")
    (entry,) = lab.json("logs", "--previous")["logs"]
    assert "Application startup complete" in entry["text"]


def test_a_key_is_put_in_force_and_stands_in_no_log_no_label_and_no_command(lab: Lab) -> None:
    first = lab.deploy("solo", SPARKOPS_API_KEY="sk-number-one")
    assert keys_in_force(lab) == {"sk-number-one"}
    second = lab.deploy("solo", SPARKOPS_API_KEY="sk-number-two")
    assert (second["changed"], second["hash"]) == (True, first["hash"])
    assert keys_in_force(lab) == {"sk-number-two"} == {lab.key()}
    assert lab.deploy("solo")["changed"] is False, "without a wish the key stays"
    mine = lab.json("key", "rotate", SPARKOPS_API_KEY="sk-of-my-own-choice")["key"]
    made = lab.json("key", "rotate")["key"]
    assert mine == "sk-of-my-own-choice" != made
    assert keys_in_force(lab) == {made} == {lab.key()}
    assert lab.state() == {GPT: "serving"}

    node = lab.node("node1")
    assert [node.modes[path] for path, text in node.files.items() if text.strip() == made] == ["600"]
    seen = [json.dumps(one.inspected()) for one in node.engine.listed()]
    seen += [repr(one.command) for one in lab.world.sent]
    seen += [path.read_text() for path in lab.home.rglob("*.jsonl")]
    assert len(seen) > 20
    assert not [text for text in seen if any(key in text for key in ("sk-number", mine, made))]


@pytest.mark.parametrize(
    ("client", "names"),
    [
        ("openai", {"OPENAI_BASE_URL", "OPENAI_API_KEY", "OPENAI_MODEL"}),
        ("claude-code", {"ANTHROPIC_BASE_URL", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_MODEL"}),
    ],
)
def test_endpoint_names_the_variables_of_a_client(serving: Lab, client: str, names: set[str]) -> None:
    variables = serving.json("endpoint", "--for", client)["variables"]
    assert set(variables) == names
    assert serving.key() in variables.values()
    url = next(value for name, value in variables.items() if name.endswith("BASE_URL"))
    assert url.endswith("/v1") == (client == "openai")
    shown = serving.cli("endpoint", "--for", client, code=0).out
    assert all(f"export {name}=" in shown for name in names)


def test_a_raw_capture_is_a_fixture_file(serving: Lab) -> None:
    raw = serving.cli("facts", "node2", "--raw", code=0).out
    assert raw.startswith("sparkops-facts 1\n")
    facts = parse(raw)
    assert facts.fabric().address
    assert [container for container in facts.containers if container.ours]
    assert [node["name"] for node in serving.json("facts")["nodes"]] == serving.names


def test_a_run_log_is_json_lines_and_named_last_on_failure(lab: Lab) -> None:
    ran = lab.cli("run", "--", "false", code=5)
    path = Path(ran.err.strip().splitlines()[-1].removeprefix("log: "))
    events = [json.loads(line) for line in path.read_text().splitlines()]
    assert events[-1]["exit_code"] == 5


def test_what_runs_is_held_to_what_was_locked(lab: Lab) -> None:
    lab.deploy("solo")
    lab.cli("recipe", "lock", "-o", "a lock.json", code=0)
    found = json.loads((lab.work / "a lock.json").read_text())
    assert found["sparkops_lock"] == 1
    assert found["revision"]["args"]["quantization"] == "mxfp4"
    node = found["nodes"]["node1"]
    assert (node["role"], len(node["image"]), len(node["model"])) == ("server", 64, 40)
    assert node["driver"]
    assert node["kernel"]
    (lab.work / "out.json").write_text(lab.cli("recipe", "lock", code=0).out)
    lab.mark()
    assert lab.json("recipe", "verify", "a lock.json")["equal"] is True
    assert lab.json("recipe", "verify", "out.json")["equal"] is True
    assert lab.changed() == [], "it only reads"
    lab.deploy("solo", "--set", "args.max-num-seqs=7")
    changed = lab.json("recipe", "verify", "a lock.json", code=3)
    assert [(one["what"], one["key"], one["now"]) for one in changed["changes"]] == [("flags", "--max-num-seqs", 7)]
    found["nodes"]["node1"]["driver"] = "1.2"
    (lab.work / "old.json").write_text(json.dumps(found))
    keys = [one["key"] for one in lab.json("recipe", "verify", "old.json", "--ignore", "driver", code=3)["changes"]]
    assert keys == ["--max-num-seqs"]
    lab.json("stop")
    assert lab.json("recipe", "verify", "a lock.json", code=3)["error"]["message"]


def test_another_launchers_recipe_for_one_node_is_refused_for_two_unless_allowed(lab: Lab) -> None:
    (lab.work / "theirs.yaml").write_text(THEIRS)
    words = ("plan", "--recipe", "theirs.yaml", "--topology", "cluster")
    refused = lab.json(*words, code=3)
    assert "topology-allowed" in refused["error"]["message"]
    plan = lab.json(*words, "--allow", "topology-allowed")
    commands = " ".join(step["command"] for step in plan["steps"])
    assert "--mxfp4-layers moe,qkv,o " in commands
    assert "--enforce-eager" in commands
    assert lab.changed() == []


def test_a_recipe_file_in_a_path_with_spaces_serves_and_is_named_by_its_file(lab: Lab) -> None:
    place = lab.work / "my own recipes"
    place.mkdir()
    recipe = place / "short context.yml"
    recipe.write_text("extends: openai-gpt-oss-120b\nargs:\n  max-model-len: 2048\n")
    plan = lab.json("plan", "--topology", "solo", "--recipe", recipe)
    (origin,) = [one["origin"] for one in plan["settings"] if one.get("flag") == "--max-model-len"]
    assert origin.endswith("short context.yml:3")
    deployed = lab.deploy("solo", "--recipe", recipe)
    assert lab.state()[deployed["deployment"]] == "serving"
    lab.json("stop", deployed["deployment"])
    assert lab.running() == set()
