"""Images in the embedded lab: built, fetched, handed on and pruned, with emulated sizes and real shells and SSH."""

from __future__ import annotations

import contextlib
import json
import os
import signal
from pathlib import Path

import pytest

from sparkops.lab import files

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
    mark = f"SPARKLAB_NODE={lab.node(node)}".encode()
    found = []
    for entry in Path("/proc").iterdir():
        try:
            line = (entry / "cmdline").read_bytes().split(b"\0")
            if entry.name.isdigit() and mark in (entry / "environ").read_bytes().split(b"\0"):
                found += [int(entry.name)] if all(word.encode() in line for word in words) else []
        except OSError:
            continue
    return found


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


def test_a_build_is_a_job_and_the_same_inputs_are_not_built_again(built):
    assert jobs(built) == {("node1", "build"): "done"}
    again = built.json("image", "build", "openai-gpt-oss-120b")
    assert (again["changed"], again["node"]) == (False, "node1")
    assert built.changed() == []
    assert left(built) == []


def test_a_build_goes_on_without_its_client_and_is_followed_again(built):
    speed(built, SLOW)
    process = built.start("image", "build", IMAGE, "--force")
    built.brings(process, lambda: pids(built, "node1", "docker", "build"))
    built.killed(process)
    assert jobs(built)[("node1", "build")] == "running"
    built.mark()
    document = built.json("image", "build", IMAGE, "--force")
    assert document["changed"]
    log = built.json("jobs", "logs", document["job"])["logs"][0]["text"]
    assert log.count("Building image with command") == 1


def test_ctrl_c_leaves_the_build_alone_and_cancel_ends_it(built, until):
    speed(built, 1)
    process = built.start("image", "build", IMAGE, "--force")
    built.brings(process, lambda: pids(built, "node1", "docker", "build"))
    process.send_signal(signal.SIGINT)
    ran = built.ended(process, 130)
    assert "goes on by itself" in ran.err
    (job,) = [one["id"] for one in built.json("jobs")["jobs"] if one["state"] == "running"]
    assert f"jobs cancel {job}" in ran.err
    assert built.json("jobs", "cancel", job)["cancelled"] == ["node1"]
    assert until(lambda: not pids(built, "node1", "docker", "build"))
    assert until(lambda: jobs(built)[("node1", "build")] == "failed")
    assert built.cli("jobs", "wait", job, code=5)
    assert left(built) == []


def test_a_directory_of_this_machine_is_built_on_the_node(built, tmp_path):
    context = tmp_path / "a context"
    context.mkdir()
    (context / "Dockerfile").write_text("FROM scratch\nCOPY data /data\nCMD x\n")
    (context / "data").write_text("1")
    words = ("image", "build", "a-test", "--context", context)
    first, second = built.json(*words), built.json(*words)
    (context / "data").write_text("22")
    third = built.json(*words)
    assert [one["changed"] for one in (first, second, third)] == [True, False, True]
    (context / "Dockerfile").write_text("FROM scratch\nRUN no-such-command\n")
    ran = built.cli(*words, code=5)
    assert "no-such-command: not found" in ran.err
    assert "jobs logs build-a-test-" in ran.err
    assert left(built) == []


def test_an_image_goes_down_the_chain_over_the_fabric_once(built):
    document = built.json("image", "distribute", IMAGE)
    assert [(one["from"], one["to"], one["over"]) for one in document["copies"]] == [
        ("node1", "node2", "fabric"),
        ("node2", "node3", "fabric"),
    ]
    assert built.json("image", "verify", IMAGE)["images"][0]["same"]
    assert left(built) == []
    built.mark()
    assert built.json("image", "distribute", IMAGE)["copies"] == []
    assert built.changed() == []


def test_without_the_fabric_it_goes_over_the_management_network_and_says_so(built):
    with built.trouble("node2", "cx7-down"):
        ran = built.cli("image", "distribute", IMAGE, code=0)
    assert "over the management network: node2 has no usable fabric" in ran.err
    assert having(built) == built.names


def test_nodes_that_differ_are_not_made_equal_by_guess(built):
    built.json("image", "distribute", IMAGE)
    built.json("image", "build", IMAGE, "--on", "node2", "--force")
    built.on("node2", "docker", "tag", "vllm-node", IMAGE)
    assert "is not the same on all nodes" in built.cli("image", "verify", IMAGE, code=5).err
    ran = built.cli("image", "distribute", IMAGE, code=3)
    assert "--from NODE says whose it is to be" in ran.err
    copies = built.json("image", "distribute", IMAGE, "--from", "node1")["copies"]
    assert [(one["from"], one["to"]) for one in copies] == [("node1", "node2")]


@pytest.mark.parametrize("who", ["sender", "receiver", "control", "link"])
def test_the_next_run_completes_what_was_killed_in_the_middle(who, built):
    speed(built, SLOW)
    process = built.start("image", "distribute", IMAGE, "--stall", "10s")
    built.brings(process, lambda: receives(built, "node3"))
    if who == "control":
        built.killed(process)
    elif who == "link":
        with built.trouble("node2", "cx7-down"):
            built.ended(process)
    else:
        node, word = {"sender": ("node1", "save"), "receiver": ("node2", "load")}[who]
        kill(built, node, "docker", word)
        built.ended(process)
    speed(built, 40)
    built.json("image", "distribute", IMAGE)
    assert built.json("image", "verify", IMAGE)["images"][0]["same"]
    assert left(built) == []


def test_an_engine_that_hangs_is_told_with_the_cure_and_the_others_are_complete(built):
    with built.trouble("node3", "docker-hangs"):
        ran = built.cli("image", "distribute", IMAGE, "--stall", "10s", code=5)
    assert "systemctl restart docker" in ran.err
    assert having(built) == ["node1", "node2"]
    assert left(built) == []
    copies = built.json("image", "distribute", IMAGE)["copies"]
    assert [(one["from"], one["to"]) for one in copies] == [("node2", "node3")]


def test_a_disk_that_fills_up_in_the_middle_is_told_with_numbers_and_left_clean(built):
    speed(built, SLOW)
    process = built.start("image", "distribute", IMAGE)
    built.brings(process, lambda: receives(built, "node3"))
    with built.trouble("node3", "disk-full"):
        ran = built.ended(process, 5)
        assert "node3 needs 51.2 GB on / for a moment and has 0.0 GB" in ran.err
        assert "cause: the disk of this node is full" in ran.err
        assert having(built) == ["node1", "node2"]
        assert left(built) == []
        assert "has 0.0 GB" in built.cli("image", "distribute", IMAGE, code=3).err
    speed(built, 40)
    copies = built.json("image", "distribute", IMAGE)["copies"]
    assert [(one["from"], one["to"]) for one in copies] == [("node2", "node3")]


def test_behind_sudo_with_a_password_everything_works_and_stays_the_persons(built, tmp_path):
    inventory = built.work / "behind sudo.yml"
    plain = (built.directory / "inventory.yml").read_text()
    inventory.write_text(plain.replace("  vars:\n", "  vars:\n    become: sudo\n", 1))
    Path(f"{inventory}.known_hosts").write_text((built.directory / "inventory.yml.known_hosts").read_text())

    def sudo(*words, ask=True, code=0):
        asked = ("--ask-become-pass",) if ask else ()
        given = {"SPARKOPS_BECOME_PASSWORD": "spark"} if ask else {}
        return built.cli("-i", inventory, *words, *asked, "--json", lab=False, code=code, **given).document

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


def test_a_pinned_image_is_pulled_once(built):
    name = "ghcr.io/berriai/litellm:main-stable"
    found = json.loads(built.on("node1", "docker", "image", "inspect", name))[0]["RepoDigests"][0]
    pinned = f"{name}@{found.partition('@')[2]}"
    assert built.json("image", "pull", pinned)["image"] == name
    built.mark()
    assert not built.json("image", "pull", pinned)["changed"]
    assert built.changed() == []
    assert "manifest unknown" in built.cli("image", "pull", f"{name}@sha256:{'0' * 64}", code=5).err


def test_an_unknown_host_is_told_as_such(built):
    ran = built.cli("image", "pull", "example.com/a/b", code=5)
    assert "the node finds no address for example.com" in ran.err


def test_pruning_takes_only_what_has_no_name_and_no_container(built):
    first = json.loads(built.on("node1", "docker", "image", "inspect", IMAGE))[0]["Id"]
    built.on("node1", "docker", "create", "--name", "a-stranger", IMAGE, "true")
    built.on("node1", "docker", "tag", "vllm-node", IMAGE)
    assert first not in [one["id"] for one in built.json("image", "prune", "--yes")["images"]]
    built.on("node1", "docker", "rm", "-f", "a-stranger")
    shown = built.json("image", "prune")
    assert (shown["removed"], first in [one["id"] for one in shown["images"]]) == (False, True)
    assert built.json("image", "prune", "--yes")["removed"]
    assert built.json("image", "prune", "--yes")["images"] == []


def test_an_old_tag_is_told_and_goes_by_its_name_unless_a_deployment_needs_it(built):
    for name in ("january", "february"):
        built.on("node1", "docker", "tag", IMAGE, f"{IMAGE}:{name}")
    (built.work / "Dockerfile").write_text("FROM scratch\nCMD x\n")
    built.json("image", "build", "a-test", "--context", built.work)
    found = built.json("image", "prune")
    assert (found["unneeded"], found["removed"]) == (["a-test:latest", f"{IMAGE}:february", f"{IMAGE}:january"], False)
    assert "`sparkops -i lab image prune NAME` removes one" in built.cli("image", "prune", code=0).out
    gone = built.json("image", "prune", f"{IMAGE}:january", "a-test", "--yes")
    assert {(one["node"], one["name"]) for one in gone["images"]} == {
        ("node1", f"{IMAGE}:january"), ("node1", "a-test:latest"),
    }  # fmt: skip
    assert having(built) == ["node1"]
    built.on("node1", "docker", "create", "--name", "a-stranger", IMAGE, "true")
    kept = built.json("image", "prune", f"{IMAGE}:february", "--yes")
    assert (kept["kept"], kept["removed"]) == ([f"{IMAGE}:february"], False)
    assert built.on("node1", "docker", "image", "ls", "-q", f"{IMAGE}:february").strip()
    assert "did you mean" in built.cli("image", "prune", f"{IMAGE}:januar", code=2).err


def test_an_image_is_kept_in_a_file_and_comes_back_elsewhere(built, tmp_path):
    file = tmp_path / "an image.tar"
    assert " of 24.6 GB (" in built.cli("image", "export", IMAGE, file, code=0).err
    assert "exists" in built.cli("image", "export", IMAGE, file, code=2).err
    assert built.json("image", "import", file, "--on", "node3")["images"] == [NAME]
    assert having(built) == ["node1", "node3"]
    again = built.cli("image", "import", file, "--on", "node3", code=0)
    assert "had all of it already" in again.out
    assert " of 25 MB (" in again.err
    (tmp_path / "half.tar").write_bytes(file.read_bytes()[:100_000])
    assert "unexpected EOF" in built.cli("image", "import", tmp_path / "half.tar", "--on", "node2", code=5).err


def test_a_file_that_cannot_be_written_to_its_end_is_told_with_numbers_and_removed(built, tmp_path, until):
    part = tmp_path / "kept.tar.part"
    part.symlink_to("/dev/full")
    ran = built.cli("image", "export", IMAGE, tmp_path / "kept.tar", code=2)
    assert "cannot be written: no space left on device; it needs 24.6 GB, " in ran.err
    assert list(tmp_path.iterdir()) == []
    assert until(lambda: not pids(built, "node1", "docker", "save"))


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("image", "build", "no-such"), 2, "nothing says how no-such is built"),
        (("image", "build", IMAGE, "--on", "node9"), 2, "no node node9 in the inventory"),
        (("image", "build", "x", "--arg", "A=1"), 2, "--arg goes with --context"),
        (("image", "distribute", "no-such"), 3, "no node has the image no-such"),
        (("image", "distribute", f"{IMAGE}@sha256:ff"), 2, "a digest is known to the registry alone"),
        (("image", "distribute", IMAGE, "--from", "node2"), 3, f"node2 has no image {IMAGE}"),
        (("image", "distribute", IMAGE, "--from", "node9"), 2, "--from node9: is not one of the selected nodes"),
        (("image", "verify", "no-such"), 3, "no node has the image no-such"),
        (("image", "import", "no-such.tar"), 2, "no-such.tar: no such file"),
        (("jobs", "logs", "no-such"), 2, "no job no-such on these nodes"),
    ],
)
def test_a_wrong_wish_is_told_in_one_line(words, code, told, built):
    ran = built.cli(*words, code=code)
    assert told in ran.err
    assert "Traceback" not in ran.told
