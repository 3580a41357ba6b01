"""The emulated engine answers every form that sparkops sends; the messages are Docker's own."""

from __future__ import annotations

import json

import pytest

IMAGE = "vllm-node:latest"
WAITS = "trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.05; done"
OPTIONS = [
    *("--restart", "unless-stopped", "--network", "host", "--ipc", "host", "--gpus", "all"),
    *("--ulimit", "memlock=-1", "--ulimit", "stack=67108864", "--ulimit", "nofile=1048576:1048576"),
    *("--cap-add", "IPC_LOCK", "--device-cgroup-rule", "c 231:* rwm", "--log-driver", "json-file"),
    *("--log-opt", "max-size=50m", "--log-opt", "max-file=3", "--stop-timeout", "30"),
]


def start(node, name, script=WAITS, *options):
    done = node.docker(
        "run", "-d", "--name", name, *options, "--entrypoint=", IMAGE, "sh", "-c", script, "entry", "a b"
    )
    assert done.code == 0, done.err
    return done.out.strip()


def inspected(node, name):
    return json.loads(node.docker("inspect", name).out)[0]


def test_run_prints_the_whole_id_and_inspect_shows_what_was_asked(node):
    labels = ["--label", "sparkops.hash=" + "0" * 64, "--label", 'sparkops.revision={"a":[1,2]}']
    identity = start(node, "c", WAITS, *OPTIONS, *labels, "-e", "A=x=y", "-v", "/opt/models:/models:ro")
    found = inspected(node, "c")
    assert found["Id"] == identity
    assert len(identity) == 64
    assert found["Name"] == "/c"
    assert found["State"]["Running"] is True
    assert found["Config"]["Labels"]["sparkops.revision"] == '{"a":[1,2]}'
    assert found["Config"]["Cmd"] == ["sh", "-c", WAITS, "entry", "a b"]
    assert found["Config"]["Entrypoint"] is None
    assert "A=x=y" in found["Config"]["Env"]
    assert found["HostConfig"]["RestartPolicy"] == {"Name": "unless-stopped", "MaximumRetryCount": 0}
    assert found["HostConfig"]["DeviceRequests"][0]["Capabilities"] == [["gpu"]]
    assert found["HostConfig"]["LogConfig"]["Config"] == {"max-size": "50m", "max-file": "3"}
    assert found["HostConfig"]["Ulimits"][2] == {"Name": "nofile", "Hard": 1048576, "Soft": 1048576}
    assert found["Mounts"][0]["Destination"] == "/models"
    assert found["Mounts"][0]["RW"] is False


def test_an_image_can_be_named_by_its_id_and_is_the_same_on_all_nodes(lab, node):
    image = json.loads(node.docker("image", "inspect", "vllm-node-mxfp4").out)[0]
    other = json.loads(lab.connect(2).docker("image", "inspect", image["Id"]).out)[0]
    assert image == other
    assert image["Architecture"] == "arm64"
    done = node.docker("run", "--rm", "--entrypoint=", image["Id"], "sh", "-c", "echo inside")
    assert (done.code, done.out) == (0, "inside\n")


def test_ps_tells_states_labels_and_ids(node):
    first = start(node, "one", WAITS, "--label", "k=v")
    second = start(node, "two", "exit 4")
    assert node.docker("wait", "two").out == "4\n"
    rows = [
        json.loads(line) for line in node.docker("ps", "-a", "--no-trunc", "--format", "{{json .}}").out.splitlines()
    ]
    assert {row["Names"]: row["State"] for row in rows} == {"one": "running", "two": "exited"}
    assert next(row for row in rows if row["Names"] == "two")["Status"].startswith("Exited (4) ")
    assert "k=v" in next(row for row in rows if row["Names"] == "one")["Labels"].split(",")
    assert node.docker("ps", "-aq", "--no-trunc").out.split() == [second, first]
    assert node.docker("ps", "-aq", "--no-trunc", "--filter", "label=k=v").out.split() == [first]
    assert node.docker("ps", "-aq", "--no-trunc", "--filter", "label=k").out.split() == [first]
    assert node.docker("ps", "-aq", "--no-trunc", "--filter", "label=k=w").out == ""
    assert node.docker("ps", "-aq", "--no-trunc", "--filter", "name=^/?two$").out.split() == [second]
    assert node.docker("ps", "-q", "--no-trunc").out.split() == [first]


def test_templates_reach_state_and_labels(node):
    start(node, "c", WAITS, "--label", "a.b=c d")
    form = (
        '{{.State.Status}} {{.RestartCount}} {{.State.Running}} {{index .Config.Labels "a.b"}} {{json .State.ExitCode}}'
    )
    assert node.docker("inspect", "--format", form, "c").out == "running 0 true c d 0\n"


def test_logs_keep_streams_order_time_and_can_be_cut(node, eventually):
    start(node, "c", "echo one; echo two; echo three; echo bad >&2; exit 0")
    node.docker("wait", "c")
    assert node.docker("logs", "c").out == "one\ntwo\nthree\n"
    assert node.docker("logs", "c").err == "bad\n"
    tail = node.docker("logs", "--tail", "2", "c")
    assert (tail.out + tail.err).count("\n") == 2
    stamped = node.docker("logs", "-t", "c").out.splitlines()
    assert [line.split(" ", 1)[1] for line in stamped] == ["one", "two", "three"]
    assert node.docker("logs", "--since", "1h", "c").out == "one\ntwo\nthree\n"
    assert node.docker("logs", "--since", "2100-01-01T00:00:00Z", "c").out == ""
    assert "three" in node.docker("logs", "--since", stamped[2].split(" ")[0], "c").out


def test_the_log_ends_with_the_last_word(node):
    done = node.docker("run", "--rm", "--entrypoint=", IMAGE, "sh", "-c", "seq 3000; echo end")
    assert done.out.split() == [*(str(number) for number in range(1, 3001)), "end"]


def test_logs_follow_until_the_container_ends(node):
    start(node, "c", "echo a; sleep 0.3; echo b")
    assert node.docker("logs", "-f", "c").out == "a\nb\n"


def test_stop_lets_a_container_that_listens_end_by_itself(node, eventually):
    start(node, "c")
    eventually(lambda: "up" in node.docker("logs", "c").out)
    assert node.docker("stop", "-t", "20", "c").out == "c\n"
    assert "bye" in node.docker("logs", "c").out
    assert inspected(node, "c")["State"]["ExitCode"] == 0


def test_stop_kills_a_first_process_that_does_not_listen(node):
    start(node, "c", "echo deaf; sleep 300; echo never")
    assert node.docker("stop", "-t", "0", "c").code == 0
    assert inspected(node, "c")["State"]["ExitCode"] == 137


def test_nothing_of_a_container_lives_on_however_it_detached_itself(node, eventually):
    start(node, "c", "setsid sh -c 'sleep 7321 & exec sleep 7322' & echo up; wait")
    eventually(lambda: node.run("pgrep -fx 'sleep 732[12]' | wc -l").out.strip() == "2")
    node.docker("rm", "-f", "c")
    assert node.run("pgrep -fx 'sleep 732[12]' | wc -l").out.strip() == "0"


def test_a_container_that_fails_is_restarted_until_it_is_stopped(node, eventually):
    start(node, "c", "echo try; exit 3", "--restart", "unless-stopped")
    eventually(lambda: int(node.docker("inspect", "--format", "{{.RestartCount}}", "c").out) >= 3)
    node.docker("stop", "c")
    count = node.docker("inspect", "--format", "{{.RestartCount}} {{.State.Status}}", "c").out
    assert count.endswith("exited\n")
    tries = node.docker("logs", "c").out.count("try")
    assert tries - int(count.split()[0]) in (0, 1), "counted when the next try is due, as Docker counts"


def test_start_continues_with_the_same_files_and_the_log_goes_on(node, eventually):
    start(node, "c", 'f="$SPARKOPS_ROOT/tmp/n"; echo x >> "$f"; wc -l < "$f"')
    node.docker("wait", "c")
    assert node.docker("start", "c").out == "c\n"
    node.docker("wait", "c")
    assert node.docker("logs", "c").out.split() == ["1", "2"]


def test_exec_runs_inside_with_the_containers_environment(node):
    start(node, "c", WAITS, "-e", "A=b")
    done = node.docker("exec", "-e", "C=d", "c", "sh", "-c", 'echo "$A $C"; exit 5')
    assert (done.code, done.out) == (5, "b d\n")
    assert node.run("echo text | docker exec -i c cat").out == "text\n"
    assert node.run("echo text | docker exec c cat").out == ""


def test_mounts_appear_below_the_containers_root(node):
    node.run("mkdir -p ~/left && echo here > ~/left/file")
    script = 'cat "$SPARKOPS_ROOT/data/file"'
    line = f"docker run --rm --entrypoint= -v \"$HOME/left:/data:ro\" {IMAGE} sh -c '{script}'"
    assert node.run(line).out == "here\n"


REFUSALS = [
    (["stop", "nope"], 1, "Error response from daemon: No such container: nope"),
    (["start", "nope"], 1, "failed to start containers: nope"),
    (["logs", "nope"], 1, "Error response from daemon: No such container: nope"),
    (["exec", "nope", "true"], 1, "Error response from daemon: No such container: nope"),
    (["rm", "nope"], 1, "Error response from daemon: No such container: nope"),
    (["rm", "-f", "nope"], 0, "Error response from daemon: No such container: nope"),
    (["inspect", "nope"], 1, "Error: No such object: nope"),
    (
        ["image", "inspect", "sparkarena/spark-vllm-docker:mxfp4"],
        1,
        "No such image: sparkarena/spark-vllm-docker:mxfp4",
    ),
    (["run", "-d", "nope:1", "true"], 125, "Unable to find image 'nope:1' locally"),
    (["run", "--wrong", IMAGE], 125, "unknown flag: --wrong"),
    (["run", "-d", "--entrypoint=", IMAGE, "nosuch"], 127, 'exec: "nosuch": executable file not found in $PATH'),
    (["run", "-d", "--device", "/dev/none", IMAGE, "true"], 125, "error gathering device information"),
    (["frob"], 1, "unknown command: docker frob"),
]


@pytest.mark.parametrize(("words", "code", "message"), REFUSALS, ids=[" ".join(row[0]) for row in REFUSALS])
def test_a_refusal_has_dockers_code_and_words(node, words, code, message):
    done = node.docker(*words)
    assert done.code == code
    assert message in done.err


def test_a_name_is_given_once(node):
    identity = start(node, "c")
    done = node.docker("run", "-d", "--name", "c", "--entrypoint=", IMAGE, "true")
    assert done.code == 125
    assert f'The container name "/c" is already in use by container "{identity}"' in done.err


def test_a_running_container_is_removed_only_by_force(node):
    start(node, "c")
    assert "container is running" in node.docker("rm", "c").err
    assert node.docker("rm", "-f", "c").out == "c\n"
    assert node.docker("ps", "-aq").out == ""


def test_version_and_info_are_those_of_dgx_os(node):
    version = json.loads(node.docker("version", "--format", "{{json .}}").out)
    info = json.loads(node.docker("info", "--format", "{{json .}}").out)
    assert version["Server"]["Arch"] == "arm64"
    assert info["Architecture"] == "aarch64"
    assert set(info["Runtimes"]) == {"io.containerd.runc.v2", "runc"}


def test_without_the_docker_group_nothing_is_answered_but_through_sudo(lab, node):
    lab.fault(1, "no-docker-group")
    done = node.docker("ps")
    assert (done.code, done.out) == (1, "")
    assert "permission denied while trying to connect to the docker API" in done.err
    assert "docker" not in node.run("id -nG").out
    assert node.run("sudo -n docker ps").code == 0
    version = node.docker("version", "--format", "{{json .}}")
    assert (version.code, json.loads(version.out)["Server"]) == (1, None)
