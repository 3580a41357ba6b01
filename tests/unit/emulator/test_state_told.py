"""What a failed test says of its nodes (`support.state`)."""

from sparklab import files
from support import state
from support.world import Lab


def test_a_lab_is_told_by_its_faults_containers_logs_and_last_commands(nodes, tmp_path):
    nodes.fault("slow")
    nodes.ended("e", 3, log=[(1, f"line {number}") for number in range(20)])
    files.append(nodes.one.path("ssh.jsonl"), {"event": "exec", "line": "sh -c 'a\nb' run 60 0 - nvidia-smi"})
    runs = tmp_path / "state" / "sparkops" / "runs"
    runs.mkdir(parents=True)
    (runs / "1-deploy-x.jsonl").write_text('{"event": "phase", "step": "pull", "run": "x"}\n')
    told = state.of_lab(nodes.place, tmp_path).splitlines()
    wanted = [
        "run log 1-deploy-x.jsonl",
        "  phase step=pull",
        "node1: faults slow",
        "  e: exited, exit code 3, 0 restarts",
    ]
    wanted += ["    | line 19", "  exec sh -c … run 60 0 - nvidia-smi"]
    assert [line for line in told if line in wanted] == wanted
    assert "    | line 11" not in told
    assert len(told) <= state.LINES


def test_a_simulated_world_is_told_by_its_containers_and_the_last_commands(tmp_path):
    lab = Lab(tmp_path)
    lab.deploy("cluster")
    lab.json("stop", "--remove")
    lab.deploy("cluster")
    told = state.of_world(lab).splitlines()
    assert sum("running, exit code 0" in line for line in told) == 2
    assert f"the last {state.SENT} of {len(lab.world.sent)} commands:" in told
    assert sum(line.startswith("  node1 [") or line.startswith("  node2 [") for line in told) == state.SENT
    assert told[0].startswith("run log ")
    assert "-deploy-" in told[0]


def test_a_long_state_keeps_its_beginning_and_its_end(nodes):
    for number in range(40):
        nodes.ended(f"e{number}", 0, log=[(1, "x" * 1000)] * 8)
    told = state.of_lab(nodes.place).splitlines()
    assert len(told) == state.LINES + 1
    assert max(map(len, told)) == state.WIDTH
    assert "… " in told[state.LINES // 2]
