"""What the emulated docker answers from its files, as sparkops asks it; the messages are Docker's own."""

import json

from sparklab.fake_docker import cli
from support import docker_forms as forms

IMAGE = "vllm-node:latest"
OPTIONS = [
    *("--restart", "unless-stopped", "--network", "host", "--ipc", "host", "--gpus", "all"),
    *("--ulimit", "memlock=-1", "--ulimit", "stack=67108864", "--ulimit", "nofile=1048576:1048576"),
    *("--cap-add", "IPC_LOCK", "--device-cgroup-rule", "c 231:* rwm", "--log-driver", "json-file"),
    *("--log-opt", "max-size=50m", "--log-opt", "max-file=3", "--stop-timeout", "30"),
]


def test_inspect_shows_what_was_asked(nodes):
    labels = ["--label", "sparkops.hash=" + "0" * 64, "--label", 'sparkops.revision={"a":[1,2]}']
    words = ("sh", "-c", "sleep 600", "entry", "a b")
    made = nodes.runs("c", *OPTIONS, *labels, "-e", "A=x=y", "-v", "/opt/models:/models:ro", words=words)
    (found,) = json.loads(nodes.docker("inspect", "c").on(1))
    assert (found["Id"], found["Name"], len(made.id)) == (made.id, "/c", 64)
    assert found["State"]["Running"] is True
    config, host = found["Config"], found["HostConfig"]
    assert config["Labels"]["sparkops.revision"] == '{"a":[1,2]}'
    assert (config["Cmd"], config["Entrypoint"]) == ([*words], None)
    assert "A=x=y" in config["Env"]
    assert host["RestartPolicy"] == {"Name": "unless-stopped", "MaximumRetryCount": 0}
    assert host["DeviceRequests"][0]["Capabilities"] == [["gpu"]]
    assert host["LogConfig"]["Config"] == {"max-size": "50m", "max-file": "3"}
    assert host["Ulimits"][2] == {"Name": "nofile", "Hard": 1048576, "Soft": 1048576}
    assert (found["Mounts"][0]["Destination"], found["Mounts"][0]["RW"]) == ("/models", False)
    form = '{{.State.Status}} {{.RestartCount}} {{.State.Running}} {{index .Config.Labels "sparkops.hash"}} '
    said = nodes.docker("inspect", "--format", form + "{{json .State.ExitCode}}", "c").on(1)
    assert said == f"running 0 true {'0' * 64} 0\n"


def test_an_image_can_be_named_by_its_id_and_is_the_same_on_all_nodes(nodes):
    (image,) = json.loads(nodes.docker("image", "inspect", "vllm-node-mxfp4").on(1))
    assert json.loads(nodes.docker("image", "inspect", image["Id"], node=nodes.two).on(1)) == [image]
    assert image["Architecture"] == "arm64"
    assert nodes.docker("create", image["Id"]).code == 0


def test_ps_tells_states_labels_and_ids(nodes):
    first, second = nodes.runs("one", "--label", "k=v").id, nodes.ended("two", 4).id
    told = nodes.docker("ps", "-a", "--no-trunc", "--format", "{{json .}}").on(1)
    rows = {row["Names"]: row for row in map(json.loads, told.splitlines())}
    assert {name: row["State"] for name, row in rows.items()} == {"one": "running", "two": "exited"}
    assert rows["two"]["Status"].startswith("Exited (4) ")
    assert "k=v" in rows["one"]["Labels"].split(",")
    filters = {"label=k=v": [first], "label=k": [first], "label=k=w": [], "name=^/?two$": [second]}
    for words, ids in {("-aq",): [second, first], ("-q",): [first]}.items():
        assert nodes.docker("ps", *words, "--no-trunc").on(1).split() == ids
    for one, ids in filters.items():
        assert nodes.docker("ps", "-aq", "--no-trunc", "--filter", one).on(1).split() == ids, one


def test_logs_keep_streams_order_and_time_and_can_be_cut(nodes):
    nodes.ended("c", 0, log=((1, "one"), (1, "two"), (2, "bad"), (1, "three")))
    shown = {
        (): ("one\ntwo\nthree\n", "bad\n"),
        ("--tail", "2"): ("three\n", "bad\n"),
        ("--tail", "1", "-t"): ("2026-11-23T10:00:03.000000000Z three\n", ""),
        ("--since", "2026-11-23T10:00:02Z"): ("three\n", "bad\n"),
        ("--since", "2100-01-01T00:00:00Z"): ("", ""),
        ("--since", "999999h"): ("one\ntwo\nthree\n", "bad\n"),
        ("-f",): ("one\ntwo\nthree\n", "bad\n"),
    }
    for words, streams in shown.items():
        said = nodes.docker("logs", *words, "c")
        assert (said.on(1), said.on(2)) == streams, words
    assert [stream for stream, _ in nodes.docker("logs", "c").pieces] == [1, 1, 2, 1]


def test_info_is_that_of_dgx_os(nodes):
    info = json.loads(nodes.docker("info", "--format", "{{json .}}").on(1))
    assert (info["Architecture"], set(info["Runtimes"])) == ("aarch64", {"io.containerd.runc.v2", "runc"})


def test_without_the_docker_group_nothing_is_answered(nodes):
    nodes.fault("no-docker-group")
    told = nodes.docker("ps")
    assert (told.code, told.on(1)) == (1, "")
    assert "permission denied while trying to connect to the docker API" in told.on(2)
    assert "docker" not in nodes.says("id", "-nG").on(1)
    assert nodes.docker("run", IMAGE, "true").code == 125
    version = nodes.docker("version", "--format", "{{json .}}")
    assert (version.code, json.loads(version.on(1))["Server"]) == (1, None)


def test_without_its_images_a_node_lists_none(nodes):
    nodes.fault("no-image")
    assert nodes.docker("image", "ls", "-q").on(1) == ""
    nodes.fault("no-image", off=True)
    assert len(nodes.docker("image", "ls", "-q").on(1).split()) == 3


def test_only_what_waits_for_nothing_is_answered_at_once(nodes):
    waits = {"logs --follow c", "logs -tf c", "wait c", "stop c", "run x", "exec c true", "save x", "hover", ""}
    asked = waits | {
        "ps -a",
        "container ls -aq",
        "inspect c",
        "image inspect x",
        "logs --tail 3 -t c",
        "info",
        "images",
    }
    assert {line for line in asked if not cli.at_once(nodes.one, line.split())} == waits


def test_the_table_of_forms_has_every_docker_command_of_the_node_scripts():
    tabled = {form.words for form in forms.FORMS}
    for verb, *options in forms.forms_of_the_scripts():
        words = verb.split()
        assert [row for row in tabled if list(row[: len(words)]) == words and set(options) <= set(row)], (verb, options)
