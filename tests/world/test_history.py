"""What runs leave on the nodes that they lock, and what the next command makes of it."""

import json
from collections.abc import Callable

import pytest

from sparkops.core.plan import Script
from sparkops.errors import Interrupted, Locked
from sparkops.testing import Trouble
from support.world import Lab


def runs(lab: Lab, *words: object, code: int = 0) -> list[dict[str, object]]:
    found: list[dict[str, object]] = lab.json("history", *words, code=code)["runs"]
    return found


def told(lab: Lab) -> list[tuple[object, ...]]:
    return [(one["verb"], one["state"], one["exit_code"], one["changed"], one["nodes"]) for one in runs(lab)]


def test_each_run_that_locks_nodes_leaves_who_what_and_how_it_ended(lab: Lab) -> None:
    assert "No run has locked these nodes yet." in lab.cli("history", code=0).out
    lab.deploy("cluster", "--set", "env.MY_TOKEN_FILE=hush")
    lab.cli("status", code=0)
    lab.deploy("solo", "--limit", "node2", "--expect", "0" * 12, code=3)
    lab.world.pause(1, lab.world.cancel())
    lab.deploy("cluster", "--set", "env.MY_TOKEN_FILE=hush")
    lab.cli("stop", code=0)
    both = ["node1", "node2"]
    assert told(lab) == [
        ("deploy", "ended", 0, True, both),
        ("deploy", "ended", 3, False, ["node2"]),
        ("deploy", "ended", 0, False, both),
        ("stop", "ended", 0, True, both),
    ]
    first, refused, *_ = runs(lab)
    assert first["command"] == (
        f"sparkops -i {lab.inventory} deploy --topology cluster --set 'env.MY_TOKEN_FILE=***' --json"
    )
    assert "@" in str(first["operator"])
    assert refused["outcome"]
    assert [one["verb"] for one in runs(lab, "node1")] == ["deploy", "deploy", "stop"]
    assert [one["verb"] for one in runs(lab, "--tail", 1)] == ["stop"]
    rows = lab.cli("history", code=0).out.splitlines()
    assert [row.split()[4:6] for row in rows[1:]] == [
        ["node1,node2", "changed"], ["node2", "exit"], ["node1,node2", "nothing"], ["node1,node2", "changed"]
    ]  # fmt: skip


def test_the_record_costs_no_command_and_a_lost_node_takes_only_its_own_part_along(lab: Lab) -> None:
    lab.deploy("cluster")
    assert not [one for one in lab.received() if "history" in one.shown.split()[0]]
    lab.mark()
    lab.world.lose("node2")
    found = lab.json("history", code=4)
    assert [(one["verb"], one["nodes"]) for one in found["runs"]] == [("deploy", ["node1"])]
    assert list(found["unreachable"]) == ["node2"]
    assert [one.shown for one in lab.received()] == ["@facts --only lock,state --history 400"]


def test_a_run_that_was_killed_is_told_by_status_and_the_next_commands_until_one_ends_well(lab: Lab) -> None:
    assert lab.killed(12, "deploy", "--topology", "cluster")
    lab.mark()
    (cut,) = lab.json("status")["cut_off"]
    assert (cut["verb"], cut["state"], cut["nodes"]) == ("deploy", "cut off", ["node1", "node2"])
    warning = f"run {cut['run']} by {cut['operator']} was cut off"
    for words in (("status",), ("plan", "--topology", "cluster"), ("rollback",)):
        ran = lab.cli(*words)
        assert ran.told.count(warning) == 1, words
        assert f'"sparkops -i {lab.inventory} deploy --topology cluster". Run it again' in ran.told
    assert lab.cli("status", "--limit", "node1").out.count("was cut off") == 1
    assert f"exit code 5: run {cut['run']} was cut off" in lab.cli("status", "--strict", code=5).err
    assert warning in lab.cli("deploy", "--topology", "cluster", code=0).err
    assert lab.json("status")["cut_off"] == []
    assert "cut off" not in lab.cli("status", code=0).told
    assert [one["state"] for one in runs(lab)] == ["cut off", "ended", "ended"]


def test_the_warning_ends_with_a_run_that_settled_this_deployment_and_with_no_other(lab: Lab) -> None:
    half = ("--set", "args.gpu-memory-utilization=0.4", "--allow", "memory-fits")
    lab.deploy("solo", "--name", "a", *half)
    assert lab.killed(6, "deploy", "--topology", "solo", "--name", "b", "--alongside", *half)
    for others in (("stop", "a"), ("start", "a"), ("restart", "a")):
        lab.cli(*others, code=0)
        assert [one["verb"] for one in lab.cli("status", "--json").document["cut_off"]] == ["deploy"], others
    wanted = {"topology": "solo", "name": "b", "alongside": True, "set": half[1], "allow": half[3]}
    (lab.work / "play.yml").write_text(json.dumps([{"run": "deploy", "with": wanted}]))
    lab.cli("play", "play.yml", code=0)
    assert [one["state"] for one in runs(lab) if one["verb"] == "play"] == ["ended"]
    assert lab.json("status")["cut_off"] == []


def test_a_run_that_is_under_way_was_not_cut_off_and_a_damaged_history_says_nothing(lab: Lab) -> None:
    seen: list[list[dict[str, object]]] = []
    lab.meets(12, lambda other: seen.append([*runs(other), *other.json("status", code=5)["cut_off"]]))
    lab.deploy("cluster")
    assert [[one["state"] for one in found] for found in seen] == [["running"]]
    for name in lab.names:
        lab.node(name).files[f"{lab.node(name).state_dir}/history"] = '{"event":"begin"\x1b[2J\n\x00{"a":1}\n'
    assert (runs(lab), lab.json("status")["cut_off"]) == ([], [])


def test_an_interrupt_and_a_failure_are_ends_too(lab: Lab) -> None:
    lab.anew(troubles=[Trouble("interrupt", 12)])
    lab.cli("deploy", "--topology", "cluster", code=Interrupted.exit_code)
    lab.anew(troubles=[Trouble("lost-before", 14)])
    lab.cli("deploy", "--topology", "cluster", code=4)
    lab.anew()
    assert [(one["state"], one["exit_code"]) for one in runs(lab)] == [("ended", 130), ("ended", 4)]


def test_a_secret_of_the_run_is_in_no_history(lab: Lab) -> None:
    lab.deploy("cluster", "--name", "sesame-street", SPARKOPS_API_KEY="sesame-street")
    texts = [text for node in lab.world.nodes.values() for path, text in node.files.items() if "history" in path]
    assert len(texts) == 2
    assert "sesame" not in "".join(texts)


def test_cleanup_takes_the_history_along_and_leaves_none(lab: Lab) -> None:
    lab.deploy("solo", "--limit", "node1")
    lab.cli("stop", code=0)
    assert "history" in lab.cli("cleanup").told
    lab.cli("cleanup", "--yes", code=0)
    assert not [path for node in lab.world.nodes.values() for path in node.files if "sparkops" in path]


@pytest.mark.parametrize("verb", ["stop", "start", "restart", "rollback", "key rotate --deployment"])
def test_a_name_that_no_deployment_has_is_refused_before_the_lock(lab: Lab, verb: str) -> None:
    lab.deploy("solo")
    before = runs(lab)
    lab.mark()
    assert 'no deployment "nope"; running: openai-gpt-oss-120b' in lab.cli(*verb.split(), "nope", code=2).err
    assert (runs(lab), lab.changed()) == (before, [])


def test_a_name_is_not_judged_while_another_run_may_be_starting_it(lab: Lab) -> None:
    locked(lab, "node1")
    assert "is locked by ann@laptop" in lab.cli("stop", "gpt", code=Locked.exit_code).err


def test_a_cut_off_run_is_told_by_a_command_that_names_a_deployment(lab: Lab) -> None:
    lab.deploy("solo")
    assert lab.killed(12, "deploy", "--topology", "cluster")
    assert lab.cli("stop", "openai-gpt-oss-120b").told.count("was cut off") == 1


# The lock of another run.


def locked(lab: Lab, name: str, run: str = "cafe0001", command: str = "sparkops deploy") -> None:
    about = {"user": "ann", "machine": "laptop", "pid": 7, "since": "2026-11-25T12:03:00+00:00", "command": command}
    lab.node(name).lock, lab.node(name).owner = run, {"run": run, **about}


def test_a_lock_is_refused_with_the_holders_command_and_a_cure_that_works(lab: Lab) -> None:
    locked(lab, "node2", command="sparkops key rotate \x1b[2J")
    ran = lab.cli("stop", code=Locked.exit_code)
    assert "node2 is locked by ann@laptop since 2026-11-25 12:03:00 UTC (run cafe0001, pid 7)" in ran.err
    assert '"sparkops key rotate \\x1b[2J"' in ran.err
    assert "next: add --wait to wait until that run ends\n" in ran.err
    error = lab.json("stop", code=Locked.exit_code)["error"]
    assert (error["holder"]["user"], error["holder"]["command"]) == ("ann", "sparkops key rotate \\x1b[2J")
    assert runs(lab) == [], "it changed nothing"
    lab.world.later(120, lambda: setattr(lab.node("node2"), "lock", None))
    lab.cli("stop", "--wait", code=0)
    assert [one["verb"] for one in runs(lab)] == ["stop"]


def test_a_run_that_waits_says_for_whom_once_a_minute_and_again_when_another_one_was_faster(lab: Lab) -> None:
    locked(lab, "node1")
    lab.world.later(100, lambda: locked(lab, "node1", run="beef0002", command="sparkops stop"))
    lab.world.later(110, lambda: setattr(lab.node("node1"), "lock", None))
    ran = lab.cli("deploy", "--topology", "cluster", "--wait", "10m", code=0)
    lines = [line for line in ran.err.splitlines() if "waiting" in line]
    assert ['"sparkops deploy"' in line for line in lines] == [True, True, False]
    assert lab.world.now() >= 100


def test_waiting_ends_after_its_time_and_nothing_was_changed(lab: Lab) -> None:
    locked(lab, "node1")
    error = lab.json("deploy", "--topology", "cluster", "--wait", "90s", code=Locked.exit_code)["error"]
    assert error["hint"] == "run the command again when that run has ended"
    assert 90 <= lab.world.now() < 100
    assert (lab.changed(), lab.node("node2").lock) == ([], None)
    assert "is not a duration" in lab.cli("stop", "--wait", "openai-gpt-oss-120b", code=2).err


def test_a_run_that_has_a_lock_and_waits_for_another_releases_its_own_and_reads_the_nodes_again(lab: Lab) -> None:
    """Two runs that hold what the other one wants would wait for each other."""
    lab.deploy("cluster")
    seen: list[object] = []
    locked(lab, "node2")
    lab.world.later(30, lambda: seen.append((lab.node("node1").lock, [one["state"] for one in runs(lab, "--tail", 1)])))
    lab.world.later(60, lambda: setattr(lab.node("node2"), "lock", None))
    lab.mark()
    stopped = lab.json("stop", "--limit", "node1", "--wait")["stopped"]
    assert (seen, [one["node"] for one in stopped]) == ([(None, ["ended"])], ["node1", "node2"])
    assert len([one for one in lab.received() if "docker-ps" in one.shown]) == 4
    assert [(one["verb"], one["exit_code"]) for one in runs(lab)] == [("deploy", 0), ("stop", 0)]
    assert [node.lock for node in lab.world.nodes.values()] == [None, None]


def test_a_second_lock_that_is_refused_leaves_the_first_until_the_run_has_noted_its_end(lab: Lab) -> None:
    lab.deploy("cluster")
    locked(lab, "node2")
    assert "add --wait" in lab.json("stop", "--limit", "node1", code=Locked.exit_code)["error"]["hint"]
    assert [(one["verb"], one["exit_code"], one["nodes"]) for one in runs(lab)][1:] == [("stop", 6, ["node1"])]


def test_a_play_that_waited_decides_by_what_it_then_finds(lab: Lab) -> None:
    (lab.work / "play.yml").write_text(
        json.dumps(
            [{"name": "p", "hosts": "all", "steps": [{"command": "touch /x", "when": "facts.meminfo.total_kib > 1"}]}]
        )
    )
    locked(lab, "node1")
    lab.world.later(30, lambda: setattr(lab.node("node1"), "lock", None))
    lab.mark()
    ran = lab.cli("play", "play.yml", "--wait")
    asked = [one for one in lab.received() if isinstance(one.command.words[0], Script)]
    assert ran.code == 0, ran.told
    assert len([one for one in asked if one.node == "node1"]) == 2


@pytest.mark.parametrize("seed", range(3))
def test_of_two_operators_the_one_who_waits_comes_after_the_other_one(lab: Lab, seed: int) -> None:
    ended: list[int] = []
    lab.anew(seed=seed)
    lab.meets(12, lambda other: ended.append(other.cli("stop").code))
    lab.deploy("cluster")
    assert ended == [Locked.exit_code]
    assert [one["verb"] for one in runs(lab)] == ["deploy"]


def test_a_state_folder_that_cannot_be_written_stops_no_command(lab: Lab) -> None:
    lab.deploy("solo")
    (lab.home / "no folder").write_text("")
    broken = {"XDG_STATE_HOME": str(lab.home / "no folder")}
    assert lab.json("status", **broken)["deployments"]
    assert lab.json("stop", **broken)["changed"]


def test_a_run_settles_everything_on_its_selected_nodes_only(lab: Lab) -> None:
    lab.deploy("cluster")
    schedule = ("cache", "schedule", "--every", "30m", "--limit", "node2")
    assert any(lab.killed(at, *schedule) and lab.json("status", code=None)["cut_off"] for at in range(2, 9))
    lab.deploy("solo", "--limit", "node1")
    (left,) = lab.json("status", code=None)["cut_off"]
    assert (left["verb"], left["nodes"]) == ("cache schedule", ["node2"])
    lab.cli("stop", code=0)
    assert lab.json("status", code=None)["cut_off"] == []


def test_a_stop_of_all_that_was_cut_off_is_over_once_a_deployment_starts_again(lab: Lab) -> None:
    lab.deploy("cluster")
    cut = 0
    for at in range(2, 30):
        if not lab.killed(at, "stop"):
            break
        if lab.json("status", code=None)["cut_off"]:
            cut += 1
            name = "openai-gpt-oss-120b"
            verb = "restart" if lab.state() != {name: "stopped"} else "start"
            lab.cli(verb, name, code=None)
            lab.cli("start", name, code=0)
            assert lab.json("status")["cut_off"] == []
    assert cut > 2


def test_a_stop_of_all_that_was_cut_off_is_not_over_by_a_run_that_had_nothing_to_do(lab: Lab) -> None:
    half = ("--set", "args.gpu-memory-utilization=0.4", "--allow", "memory-fits")
    lab.deploy("solo", "--name", "a", "--limit", "node1", *half)
    lab.deploy("solo", "--name", "b", "--limit", "node1", "--alongside", *half)
    lab.cli("stop", "b", code=0)
    assert lab.killed(3, "stop", "--limit", "node1")
    assert lab.state() == {"a": "stopped", "b": "stopped"}
    lab.cli("stop", "b", code=0)
    assert len(lab.json("status", code=None)["cut_off"]) == 1
    lab.cli("start", "a", code=0)
    assert lab.json("status")["cut_off"] == []


def test_a_maintenance_that_was_cut_off_at_any_moment_is_over_after_the_rollback_that_it_prints(lab: Lab) -> None:
    play = ("play", "maintenance", "-e", "stays=node1", "-e", "leaves=node2", "-e", "recipe=openai-gpt-oss-120b")
    seen = set()
    for at in range(2, 200, 5):
        lab.deploy("cluster")
        served = [one["hash"] for one in lab.json("status")["deployments"] if one["state"] == "serving"]
        if not lab.killed(at, *play):
            break
        if {one["hash"]: one["state"] for one in lab.json("status", code=None)["deployments"]}[served[0]] == "serving":
            lab.cli("stop", "--remove", code=0)
            continue
        lab.json("rollback", "--to", served[0][:8], code=None)
        document = lab.json("status")
        assert [one["name"] for one in document["deployments"] if one["state"] == "serving"], at
        assert document["cut_off"] == [], at
        seen.add(len(document["deployments"]))
        lab.cli("stop", "--remove", code=0)
    assert seen == {1, 2}


def test_a_stop_settles_what_it_stopped_also_if_another_node_is_away(lab_of: Callable[[int], Lab]) -> None:
    lab = lab_of(3)
    lab.deploy("2x-solo", "--limit", "node2,node3")
    assert lab.killed(20, "restart")
    assert lab.json("status", code=None)["cut_off"]
    lab.world.lose("node1")
    lab.cli("stop", code=4)
    lab.world.heal("node1")
    assert lab.json("status")["cut_off"] == []
    lab.cli("start", code=0)
    assert lab.killed(20, "restart")
    lab.world.lose("node3")
    lab.cli("stop", code=4)
    lab.world.heal("node3")
    assert lab.json("status", code=None)["cut_off"]


def test_a_stop_that_missed_a_part_settles_nothing_although_an_older_revision_is_whole(lab: Lab) -> None:
    lab.deploy("solo", "--name", "chat", "--limit", "node1")
    lab.deploy("cluster", "--name", "chat")
    assert lab.killed(16, "restart", "chat")
    assert lab.json("status", code=None)["cut_off"]
    lab.world.lose("node2")
    lab.cli("stop", "chat", code=4)
    lab.world.heal("node2")
    assert lab.json("status", code=None)["cut_off"]
