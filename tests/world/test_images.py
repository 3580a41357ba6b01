"""`image` and `jobs` over simulated nodes: built, fetched, handed on, pruned; whoever is killed in the middle."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sparkops.testing import Crash
from sparkops.testing.images import digest
from support.world import Lab

IMAGE = "vllm-node-mxfp4"
NAME = f"{IMAGE}:latest"
GIB = 1024 * 1024


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    """Three nodes that know each other's host keys, and the mxfp4 image on none of them."""
    made = Lab(tmp_path, nodes=3)
    made.cli("trust", "--yes", code=0)
    for name in made.names:
        made.node(name).engine.store.remove(IMAGE)
    made.mark()
    return made


@pytest.fixture
def built(lab: Lab) -> Lab:
    """The image on the first node; no job is left."""
    lab.json("image", "build", IMAGE)
    lab.mark()
    return lab


def store(lab: Lab, name: str = "node1") -> Any:
    return lab.node(name).engine.store


def having(lab: Lab) -> list[str]:
    return [name for name in lab.names if any(NAME in one["RepoTags"] for one in store(lab, name).all())]


def jobs(lab: Lab) -> dict[tuple[str, str], str]:
    return {(job["node"], job["id"].split("-")[0]): job["state"] for job in lab.json("jobs")["jobs"]}


def left(lab: Lab) -> list[str]:
    """What a copy, a build or a login may not leave."""
    files = [(path, text) for name in lab.names for path, text in lab.node(name).files.items()]
    return [path for path, text in files if "sparkops-copy" in text or "/relay/" in path or "/work/" in path]


def hops(copies: list[dict[str, str]]) -> list[tuple[str, str]]:
    return [(one["from"], one["to"]) for one in copies]


def test_a_build_is_a_job_and_the_same_inputs_are_not_built_again(built: Lab) -> None:
    assert jobs(built) == {("node1", "build"): "done"}
    again = built.json("image", "build", "openai-gpt-oss-120b")
    assert (again["changed"], again["node"]) == (False, "node1")
    assert built.changed() == []
    assert left(built) == []


@pytest.mark.parametrize("how", ["killed", "interrupted"])
def test_a_build_goes_on_without_its_client_and_is_followed_again(lab: Lab, how: str) -> None:
    (lab.work / "Dockerfile").write_text("FROM scratch\nCMD x\n")
    words = ("image", "build", "a-test", "--context", lab.work)
    lab.world.later(5, lab.world.crash if how == "killed" else lab.world.interrupt)
    if how == "killed":
        with pytest.raises(Crash):
            lab.cli(*words)
        lab.anew()
    else:
        told = lab.cli(*words, code=130).err
        assert "goes on by itself" in told
        assert "jobs cancel build-a-test-" in told
    assert jobs(lab) == {("node1", "build"): "running"}
    lab.mark()
    document = lab.json(*words)
    assert document["changed"]
    again = [one.shown for one in lab.received() if one.shown.startswith(("@image context", "@job start build"))]
    assert again == [], "it has its files and is only followed"
    log = lab.json("jobs", "logs", document["job"])["logs"][0]["text"]
    assert log.count("Building image with command") == 1
    assert lab.cli("jobs", "wait", document["job"], code=0)


def test_a_build_that_is_cancelled_has_failed_and_leaves_nothing(lab: Lab) -> None:
    lab.world.later(5, lab.world.interrupt)
    lab.cli("image", "build", IMAGE, code=130)
    (job,) = (one["id"] for one in lab.json("jobs")["jobs"])
    assert lab.json("jobs", "cancel", job)["cancelled"] == ["node1"]
    assert jobs(lab) == {("node1", "build"): "failed"}
    assert lab.cli("jobs", "wait", job, code=5)
    assert (left(lab), having(lab)) == ([], [])


def test_a_directory_of_this_machine_is_built_on_the_node(built: Lab, tmp_path: Path) -> None:
    context = tmp_path / "a context"
    context.mkdir()
    (context / "Dockerfile").write_text("FROM scratch\nCOPY data /data\nCMD x\n")
    (context / "data").write_text("1")
    words = ("image", "build", "a-test", "--context", context)
    first, second = built.json(*words), built.json(*words)
    (context / "data").write_text("22")
    assert [one["changed"] for one in (first, second, built.json(*words))] == [True, False, True]
    (context / "Dockerfile").write_text("FROM scratch\nRUN no-such-command\n")
    ran = built.cli(*words, code=5)
    assert "no-such-command: not found" in ran.err
    assert "jobs logs build-a-test-" in ran.err
    assert left(built) == []


def test_an_image_goes_down_the_chain_over_the_fabric_once(built: Lab) -> None:
    document = built.json("image", "distribute", IMAGE)
    assert hops(document["copies"]) == [("node1", "node2"), ("node2", "node3")]
    assert {one["over"] for one in document["copies"]} == {"fabric"}
    assert built.json("image", "verify", IMAGE)["images"][0]["same"]
    assert left(built) == []
    built.mark()
    assert built.json("image", "distribute", IMAGE)["copies"] == []
    assert built.changed() == []


def test_without_the_fabric_it_goes_over_the_management_network_and_says_so(built: Lab) -> None:
    built.node("node2").link = False
    ran = built.cli("image", "distribute", IMAGE, code=0)
    assert "over the management network: node2 has no usable fabric" in ran.err
    assert having(built) == built.names


def test_nodes_that_differ_are_not_made_equal_by_guess(built: Lab) -> None:
    built.json("image", "distribute", IMAGE)
    built.json("image", "build", IMAGE, "--on", "node2", "--force")
    assert "is not the same on all nodes" in built.cli("image", "verify", IMAGE, code=5).err
    ran = built.cli("image", "distribute", IMAGE, code=3)
    assert "--from NODE says whose it is to be" in ran.err
    copies = built.json("image", "distribute", IMAGE, "--from", "node1")["copies"]
    assert hops(copies) == [("node1", "node2")]


@pytest.mark.parametrize(
    ("who", "code"),
    [("node1", 5), ("node2", 5), ("node3", 0), ("reboot", 5), ("lost", 4), ("interrupt", 130), ("control", None)],
)
def test_the_next_run_completes_what_was_killed_in_the_middle(built: Lab, who: str, code: int | None) -> None:
    """A run itself goes on from the nearest node that got it."""
    happens = {
        "control": built.world.crash,
        "interrupt": built.world.interrupt,
        "lost": lambda: built.world.lose("node2"),
        "reboot": built.node("node2").reboot,
    }

    def kill() -> None:
        (job,) = (job for name, job in built.node(who).jobs.items() if name.startswith("copy-"))
        assert job.code is None
        job.end(137)

    built.world.later(10, happens.get(who, kill))
    if code is None:
        with pytest.raises(Crash):
            built.cli("image", "distribute", IMAGE)
    else:
        built.cli("image", "distribute", IMAGE, code=code)
    built.anew()
    told = built.cli("image", "distribute", IMAGE, code=0).err
    assert ("goes on on" in told) == (who in ("control", "interrupt"))
    assert built.json("image", "verify", IMAGE)["images"][0]["same"]
    assert left(built) == []


def test_a_disk_that_fills_up_in_the_middle_is_told_with_numbers_and_left_clean(built: Lab) -> None:
    node3 = built.node("node3")
    built.world.later(10, lambda: setattr(node3, "free_kib", 0))
    ran = built.cli("image", "distribute", IMAGE, code=5)
    assert "node3 needs 42.0 GB on / for a moment and has 0.0 GB" in ran.err
    assert "cause: the disk of this node is full" in ran.err
    assert (having(built), left(built)) == (["node1", "node2"], [])
    assert "has 0.0 GB" in built.cli("image", "distribute", IMAGE, code=3).err
    node3.free_kib = 100 * GIB
    assert hops(built.json("image", "distribute", IMAGE)["copies"]) == [("node2", "node3")]


def test_a_registry_gets_its_password_and_nobody_else_does(lab: Lab) -> None:
    closed = "nvcr.io/nvidia/vllm:26.04-py3"
    assert "image pull NAME --user USER" in lab.cli("image", "pull", closed, code=5).err
    user = ("--user", "$oauthtoken")
    ran = lab.cli("image", "pull", closed, *user, "--json", code=0, SPARKOPS_REGISTRY_PASSWORD="nvapi-lab")
    assert (ran.document["changed"], ran.document["image"]) == (True, closed)
    assert left(lab) == []
    kept = [path.read_text() for path in lab.home.rglob("*.jsonl")]
    assert kept
    assert "nvapi-lab" not in ran.told + "".join((*kept, *(one.shown for one in lab.received())))
    wrong = lab.cli("image", "pull", closed, *user, code=5, SPARKOPS_REGISTRY_PASSWORD="mine")
    assert "unauthorized" in wrong.err


def test_a_pinned_image_is_pulled_once(lab: Lab) -> None:
    name = "ghcr.io/berriai/litellm:main-stable"
    pinned = f"{name}@{digest(name)}"
    assert lab.json("image", "pull", pinned)["image"] == name
    lab.mark()
    assert not lab.json("image", "pull", pinned)["changed"]
    assert lab.changed() == []
    assert "manifest unknown" in lab.cli("image", "pull", f"{name}@sha256:{'0' * 64}", code=5).err
    assert "the node finds no address for example.com" in lab.cli("image", "pull", "example.com/a/b", code=5).err


def stranger(lab: Lab) -> None:
    lab.on("node1", "docker", "run", "-d", "--name", "a-stranger", IMAGE, "true")


def test_pruning_takes_only_what_has_no_name_and_no_container(built: Lab) -> None:
    first = store(built).find(IMAGE)["Id"]
    stranger(built)
    store(built).tag("vllm-node", IMAGE)
    assert first not in [one["id"] for one in built.json("image", "prune", "--yes")["images"]]
    built.on("node1", "docker", "rm", "-f", "a-stranger")
    shown = built.json("image", "prune")
    assert (shown["removed"], [one["id"] for one in shown["images"]]) == (False, [first])
    assert built.json("image", "prune", "--yes")["removed"]
    assert built.json("image", "prune", "--yes")["images"] == []


def test_an_old_tag_is_told_and_goes_by_its_name_unless_a_deployment_needs_it(built: Lab) -> None:
    january, february = (f"{IMAGE}:{month}" for month in ("january", "february"))
    for name in (january, february):
        store(built).tag(IMAGE, name)
    (built.work / "Dockerfile").write_text("FROM scratch\nCMD x\n")
    built.json("image", "build", "a-test", "--context", built.work)
    found = built.json("image", "prune")
    assert (found["unneeded"], found["removed"]) == (["a-test:latest", february, january], False)
    assert "image prune NAME` removes one" in built.cli("image", "prune", code=0).out
    gone = built.json("image", "prune", january, "a-test", "--yes")
    assert {(one["node"], one["name"]) for one in gone["images"]} == {("node1", january), ("node1", "a-test:latest")}
    assert having(built) == ["node1"]
    stranger(built)
    kept = built.json("image", "prune", february, "--yes")
    assert (kept["kept"], kept["removed"]) == ([february], False)
    assert store(built).find(february)
    assert "did you mean" in built.cli("image", "prune", f"{IMAGE}:januar", code=2).err


def test_an_image_is_kept_in_a_file_and_comes_back_elsewhere(lab: Lab, tmp_path: Path) -> None:
    store(lab).add(IMAGE, {}, size=3_000_000)
    file = tmp_path / "an image.tar"
    assert " of 3 MB (" in lab.cli("image", "export", IMAGE, file, code=0).err
    assert "exists" in lab.cli("image", "export", IMAGE, file, code=2).err
    assert lab.json("image", "import", file, "--on", "node3")["images"] == [NAME]
    assert having(lab) == ["node1", "node3"]
    assert "had all of it already" in lab.cli("image", "import", file, "--on", "node3", code=0).out
    (tmp_path / "half.tar").write_text(file.read_text()[:100])
    assert "unexpected EOF" in lab.cli("image", "import", tmp_path / "half.tar", "--on", "node2", code=5).err


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("image", "build", "no-such"), 2, "nothing says how no-such is built"),
        (("image", "build", IMAGE, "--on", "node9"), 2, "no node node9 in the inventory"),
        (("image", "build", "x", "--arg", "A=1"), 2, "--arg goes with --context"),
        (("image", "distribute", "no-such"), 3, "no node has the image no-such"),
        (("image", "distribute", f"{IMAGE}@sha256:ff"), 2, "a digest is known to the registry alone"),
        (("image", "distribute", "vllm-node", "--from", "node2"), 3, "node2 has no image vllm-node"),
        (("image", "distribute", IMAGE, "--from", "node9"), 2, "--from node9: is not one of the selected nodes"),
        (("image", "verify", "no-such"), 3, "no node has the image no-such"),
        (("image", "import", "no-such.tar"), 2, "no-such.tar: no such file"),
        (("jobs", "logs", "no-such"), 2, "no job no-such on these nodes"),
    ],
)
def test_a_wrong_wish_is_told_in_one_line(lab: Lab, words: tuple[str, ...], code: int, told: str) -> None:
    store(lab, "node2").remove("vllm-node")
    ran = lab.cli(*words, code=code)
    assert told in ran.err
    assert "Traceback" not in ran.told
