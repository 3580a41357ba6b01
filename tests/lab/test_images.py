"""Images over real Docker engines and sshd: built on one node, handed down a chain, and killed in the middle."""

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

IMAGE = "sparkops-test-image"
MEGABYTES = 120
NODES = ("node1", "node2", "node3", "node4")
FABRIC = "enp1s0f0np0"


@dataclass
class Four:
    """A lab of four nodes and what can be seen on them past sparkops."""

    lab: Any
    layers: list[str] = field(default_factory=list)

    def image(self, node: str) -> dict[str, Any] | None:
        done = self.lab.ran_on(node, "docker", "image", "inspect", IMAGE)
        return json.loads(done.stdout)[0] if done.returncode == 0 else None

    def has(self, node: str) -> bool:
        found = self.image(node)
        return found is not None and found["RootFS"]["Layers"] == self.layers

    def sent(self, node: str) -> int:
        return self._passed(node, "tx")

    def received(self, node: str) -> int:
        return self._passed(node, "rx")

    def _passed(self, node: str, way: str) -> int:
        link = self.lab.on(node, "ip", "-j", "-s", "link", "show", FABRIC)
        return int(json.loads(link)[0]["stats64"][way]["bytes"])

    def dawdle(self) -> None:
        """What the first node sends goes so slowly that the middle of a copy lasts a minute."""
        slow = ("rate", "16mbit", "burst", "256kb", "latency", "1s")
        self.lab.on("node1", "tc", "qdisc", "replace", "dev", FABRIC, "root", "tbf", *slow)

    def hurry(self) -> None:
        self.lab.ran_on("node1", "tc", "qdisc", "del", "dev", FABRIC, "root")

    def forget(self, *nodes: str) -> None:
        for node in nodes:
            self.lab.ran_on(node, "docker", "image", "rm", "-f", IMAGE)

    def left(self) -> list[str]:
        """Keys, pipes, files, half images and processes that a copy may not leave."""
        script = """
            grep -h sparkops-copy /home/*/.ssh/authorized_keys
            find /home/*/.local/state/sparkops/relay /home/*/.local/state/sparkops/work -mindepth 1
            find /tmp -maxdepth 1 -name 'sparkops*'
            find /var/lib/docker/tmp -mindepth 1
            docker image ls -q --filter dangling=true
            pgrep -af '^docker (save|load)|[s]parkops-next'
        """
        found = [(node, self.lab.ran_on(node, "sh", "-c", script).stdout.strip()) for node in NODES]
        return [f"{node}: {lines}" for node, lines in found if lines]

    def distribute(self, *words: str, code: int | None = 0) -> dict[str, Any]:
        found: dict[str, Any] = self.lab.json("image", "distribute", IMAGE, *words, code=code)
        return found


@pytest.fixture(scope="module")
def four(new_lab: Callable[[], Any], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Four]:
    """Four nodes; the image is built on the first."""
    lab = new_lab()
    lab.cli("lab", "up", "--backend", "docker", "--nodes", len(NODES))
    context = tmp_path_factory.mktemp("a context")
    with (context / "big").open("wb") as stream:
        for _ in range(MEGABYTES):
            stream.write(os.urandom(1_000_000))
    (context / "Dockerfile").write_text(
        'FROM scratch\nARG FROM_WHERE\nLABEL from="${FROM_WHERE}"\nCOPY big /big\nCMD ["/big"]\n'
    )
    words = ("image", "build", IMAGE, "--context", context, "--arg", "FROM_WHERE=a test")
    first, second = lab.json(*words), lab.json(*words)
    made = Four(lab)
    found = made.image("node1")
    assert found is not None
    assert (first["changed"], second["changed"], found["Config"]["Labels"]["from"]) == (True, False, "a test")
    assert second["id"] == found["Id"]
    made.layers = found["RootFS"]["Layers"]
    yield made
    lab.end()
    lab.cli("lab", "down")


@pytest.fixture
def begun(four: Four, eventually: Callable[..., bool]) -> Iterator[Any]:
    """A copy to nodes that lack the image, in its middle, where it stays until `hurry`.

    The third node receives before the second has it.
    """
    four.forget(*NODES[1:])
    four.dawdle()
    try:
        before = four.received("node3")
        process = four.lab.start("image", "distribute", IMAGE, "--stall", "10s")
        assert eventually(lambda: four.received("node3") - before > MEGABYTES * 50_000)
        assert not four.has("node2"), "".join(process.communicate())
        yield process
    finally:
        four.hurry()
        four.lab.end()


def test_every_node_gets_the_image_and_none_sends_it_twice(four, eventually):
    four.forget(*NODES[1:])
    before = {node: four.sent(node) for node in NODES}
    document = four.distribute()
    sent = {node: four.sent(node) - before[node] for node in NODES}
    size = document["size_bytes"]
    assert [(one["from"], one["to"], one["over"]) for one in document["copies"]] == [
        ("node1", "node2", "fabric"),
        ("node2", "node3", "fabric"),
        ("node3", "node4", "fabric"),
    ]
    assert all(four.has(node) for node in NODES)
    assert all(bytes_ <= 1.05 * size for bytes_ in sent.values()), sent
    verified = four.lab.json("image", "verify", IMAGE)["images"]
    assert len({one["fingerprint"] for one in verified[0]["nodes"]}) == 1
    assert eventually(lambda: not four.left(), 60), four.left()

    before = {node: four.sent(node) for node in NODES}
    assert four.distribute()["copies"] == []
    assert all(four.sent(node) - before[node] < 0.01 * size for node in NODES)


TROUBLES: dict[str, Callable[[Four], object]] = {
    "all of the receiver's job": lambda four: four.lab.on(
        "node3", "pkill", "-KILL", "-f", "relay receive|^docker load|sparkops-next"
    ),
    "the link": lambda four: four.lab.fault("node3", "cx7-down"),
}


@pytest.mark.parametrize("trouble", TROUBLES)
def test_the_next_run_ends_well_when_in_the_middle_there_went(trouble, four, begun, eventually):
    try:
        TROUBLES[trouble](four)
        four.hurry()
        four.lab.ended(begun, None)
    finally:
        four.lab.fault("node3", "cx7-down", off=True)
    four.distribute("--stall", "10s")
    assert all(four.has(node) for node in NODES)
    assert eventually(lambda: not four.left(), 60), four.left()


def test_a_disk_that_fills_up_in_the_middle_holds_up_nobody_else(four, eventually):
    four.forget(*NODES[1:])
    unpacked = "/var/lib/docker/tmp"
    four.lab.on("node3", "mount", "-t", "tmpfs", "-o", f"size={MEGABYTES // 3}m", "tmpfs", unpacked)
    try:
        error = four.distribute(code=5)["error"]
        assert "node3" in error["message"]
        assert error["diagnosis"]["id"] == "disk-full"
        assert [four.has(node) for node in NODES] == [True, True, False, True]
        assert eventually(lambda: not four.left(), 60), four.left()
    finally:
        four.lab.on("node3", "umount", "-l", unpacked)
    assert [(one["from"], one["to"]) for one in four.distribute()["copies"]] == [("node2", "node3")]
    assert all(four.has(node) for node in NODES)


def test_through_sudo_with_and_without_a_password_nothing_of_roots_is_left(four, eventually, tmp_path: Path):
    open_ = four.lab.as_user(tmp_path, become="sudo")
    asked = replace(open_, more={"SPARKOPS_BECOME_PASSWORD": "spark"})
    (tmp_path / "Dockerfile").write_text("FROM scratch\nCOPY Dockerfile /\n")
    four.forget(*NODES[1:])
    for node in NODES:
        four.lab.on(node, "rm", "-rf", "/home/spark/.local/state/sparkops")
        four.lab.fault(node, "no-docker-group")
    try:
        assert open_.json("image", "build", "a-small-one", "--context", tmp_path)["changed"]
        for node in NODES:
            four.lab.fault(node, "sudo-password")
        assert "--ask-become-pass" in open_.json("image", "distribute", IMAGE, code=3)["error"]["hint"]
        document = asked.json("image", "distribute", IMAGE, "--ask-become-pass")
        assert len(document["copies"]) == len(NODES) - 1
        jobs = {(job["node"], job["state"]) for job in open_.json("jobs")["jobs"]}
        assert jobs == {(node, "done") for node in NODES}
    finally:
        for node in NODES:
            for fault in ("no-docker-group", "sudo-password"):
                four.lab.fault(node, fault, off=True)
    assert all(four.has(node) for node in NODES)
    assert eventually(lambda: not four.left(), 60), four.left()
    for node in NODES:
        assert four.lab.on(node, "find", "/home/spark", "-user", "root", "!", "-path", "*/jobs/*/*") == ""


def test_what_is_kept_in_a_file_comes_back(four, tmp_path: Path):
    file = tmp_path / "an image.tar"
    four.lab.cli("image", "export", IMAGE, file)
    four.forget("node4")
    assert four.lab.json("image", "import", file, "--on", "node4")["images"] == [f"{IMAGE}:latest"]
    assert four.has("node4")
