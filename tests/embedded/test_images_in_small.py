"""What real shells, pipes and SSH show of images: who outlives whom, streams that end early, root's files."""

import contextlib
import json
import os
import signal
from pathlib import Path

import pytest

from sparklab import files
from support.processes import living

IMAGE = "vllm-node-mxfp4"
NAME = f"{IMAGE}:latest"
SLOW = 2.0
"""A speed at which a copy and a build have a middle that nobody is too late for."""


@pytest.fixture(scope="module")
def shared(lab_with):
    return lab_with(nodes=3)


@pytest.fixture
def built(empty, request):
    """The mxfp4 image, rebuilt on the first node and on no other; no job is left."""
    speed(empty, 40)
    for name in empty.names:
        for tag in (NAME, "a-test:latest"):
            if empty.on(name, "docker", "image", "ls", "-q", tag):
                empty.on(name, "docker", "rmi", "-f", tag)
    empty.json("image", "build", IMAGE)
    empty.mark()
    return empty


def speed(lab, number: float) -> None:
    for name in lab.names:
        path = lab.node(name, "node.json")
        path.write_text(json.dumps({**json.loads(path.read_text()), "speed": number}))


def having(lab) -> list[str]:
    return [name for name in lab.names if lab.on(name, "docker", "image", "ls", "-q", NAME).strip()]


def jobs(lab) -> dict[tuple[str, str], str]:
    return {(job["node"], job["id"].split("-")[0]): job["state"] for job in lab.json("jobs")["jobs"]}


def left(lab) -> list[str]:
    """What a copy, a build or a login may not leave."""
    found = []
    for name in lab.names:
        keys = lab.node(name, "home", ".ssh", "authorized_keys").read_text()
        found += [line for line in keys.splitlines() if "sparkops-copy" in line]
        state = lab.node(name, "home", ".local", "state", "sparkops")
        found += [str(path) for folder in ("relay", "work") for path in state.glob(f"{folder}/*")]
    return found


def pids(lab, node: str, *words: str) -> list[int]:
    """Processes of a node whose command line has all these words."""
    return [one.pid for one in living(f"SPARKLAB_NODE={lab.node(node)}") if {*words} <= {*one.words}]


def receives(lab, node: str) -> bool:
    """Whether bytes of an image have arrived there, for a process that lives: one that was killed leaves its count."""
    counts = [path for path in lab.node(node, "root", "proc").glob("*/io") if Path("/proc", path.parent.name).exists()]
    return any(text.startswith("rchar: ") and text != "rchar: 0\n" for text in map(files.read, counts))


def kill(lab, node: str, *words: str) -> None:
    found = pids(lab, node, *words)
    assert found
    for pid in found:
        with contextlib.suppress(ProcessLookupError):  # it ended with the one before it
            os.kill(pid, signal.SIGKILL)


def test_a_build_outlives_a_killed_client_and_ctrl_c_and_ends_when_it_is_cancelled(built, until):
    def building():
        return pids(built, "node1", "docker", "build")

    speed(built, SLOW)
    process = built.start("image", "build", IMAGE, "--force")
    built.brings(process, building)
    built.killed(process)
    assert jobs(built)[("node1", "build")] == "running"
    document = built.json("image", "build", IMAGE, "--force")
    log = built.json("jobs", "logs", document["job"])["logs"][0]["text"]
    assert log.count("Building image with command") == 1, "it was followed"
    speed(built, 1)
    process = built.start("image", "build", IMAGE, "--force")
    built.brings(process, building)
    process.send_signal(signal.SIGINT)
    assert "continues on the node" in built.ended(process, 130).err
    assert built.json("jobs", "cancel", document["job"])["cancelled"] == ["node1"]
    assert until(lambda: not building() and jobs(built)[("node1", "build")] == "failed")
    assert left(built) == []


def test_the_next_run_completes_what_was_killed_in_the_middle(built):
    for node, word in (("node1", "save"), ("node2", "load")):
        speed(built, SLOW)
        process = built.start("image", "distribute", IMAGE, "--stall", "5s")
        built.brings(process, lambda: receives(built, "node3"))
        kill(built, node, "docker", word)
        speed(built, 40)
        built.ended(process)
    built.json("image", "distribute", IMAGE)
    assert built.json("image", "verify", IMAGE)["images"][0]["same"]
    assert left(built) == []


def test_an_engine_that_hangs_is_told_with_the_cure_and_the_others_are_complete(built):
    with built.trouble("node3", "docker-hangs"):
        ran = built.cli("image", "distribute", IMAGE, "--stall", "5s", code=5)
    assert "systemctl restart docker" in ran.err
    assert having(built) == ["node1", "node2"]
    assert left(built) == []
    copies = built.json("image", "distribute", IMAGE)["copies"]
    assert [(one["from"], one["to"]) for one in copies] == [("node2", "node3")]


def test_behind_sudo_with_a_password_everything_works_and_stays_the_persons(built, tmp_path):
    def sudo(*words, **how):
        return built.behind_sudo(*words, "--json", **how).document

    for name in built.names:
        for fault in ("no-docker-group", "sudo-password"):
            built.fault(name, fault)
    refused = sudo("image", "build", IMAGE, "--force", ask=False, code=3)["error"]
    assert "--ask-become-pass" in refused["hint"]
    assert "--ask-become-pass" in sudo("image", "list", ask=False, code=5)["error"]["hint"]
    job = sudo("image", "build", IMAGE, "--force")["job"]
    assert [job["state"] for job in sudo("jobs", ask=False)["jobs"]] == ["done"]
    assert "Building image" in sudo("jobs", "logs", job, ask=False)["logs"][0]["text"]
    assert len(sudo("image", "distribute", IMAGE, "--from", "node1")["copies"]) == 2
    assert sudo("image", "verify", IMAGE)["images"][0]["same"]
    sudo("image", "export", IMAGE, tmp_path / "kept.tar")
    assert sudo("image", "import", tmp_path / "kept.tar", "--on", "node3")["changed"] is False
    assert sudo("image", "prune", "--yes")["removed"]
    found = sudo("model", "fetch", "openai/gpt-oss-20b", ask=False)
    assert sorted(bool(node["copied"]) for node in found["nodes"]) == [False, True, True]
    assert sudo("model", "prune", "openai/gpt-oss-20b", "--yes")["removed"]
    assert left(built) == []
    assert [path for name in built.names for path in built.node(name, "root", "root").rglob("*")] == []


def test_a_registry_gets_its_password_and_nobody_else_does(built):
    closed = "nvcr.io/nvidia/vllm:26.04-py3"
    ran = built.cli("image", "pull", closed, code=5)
    assert "image pull NAME --user USER" in ran.err
    document = built.json("image", "pull", closed, "--user", "$oauthtoken", SPARKOPS_REGISTRY_PASSWORD="nvapi-lab")
    assert (document["changed"], document["image"]) == (True, closed)
    assert left(built) == []
    folders = (built.node("node1", "home"), built.home)
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file() and path.stat().st_size < 1e6]
    assert [path for path in files if b"nvapi-lab" in path.read_bytes()] == []
    assert all("nvapi-lab" not in one.shown for one in built.received())


def test_an_image_passes_through_a_file_and_one_that_cannot_be_written_is_removed(built, tmp_path, until):
    file, other = tmp_path / "an image.tar", tmp_path / "other.tar"
    assert " of 24.6 GB (" in built.cli("image", "export", IMAGE, file, code=0).err
    assert built.json("image", "import", file, "--on", "node3")["images"] == [NAME]
    assert having(built) == ["node1", "node3"]
    (tmp_path / "half.tar").write_bytes(file.read_bytes()[:100_000])
    assert "unexpected EOF" in built.cli("image", "import", tmp_path / "half.tar", "--on", "node2", code=5).err
    (tmp_path / "other.tar.part").symlink_to("/dev/full")
    ran = built.cli("image", "export", IMAGE, other, code=2)
    assert "cannot be written: no space left on device; the file needs about 24.6 GB, " in ran.err
    assert [path for path in tmp_path.iterdir() if path.name.startswith("other")] == []
    assert until(lambda: not pids(built, "node1", "docker", "save"))
