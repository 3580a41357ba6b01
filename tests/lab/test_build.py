"""Images that the tool itself builds on a node: the engine's own, from its context, and one that takes time."""

import signal
from typing import Any

import pytest

ENGINE = "vllm-node-mxfp4"
SLOW = "FROM sparkops-lab-base:bookworm\nCOPY tag /tag\nRUN sleep 3600 || true\n"
"""Until its sleep is ended."""


@pytest.fixture
def spare(trio: Any) -> Any:
    """The node that no other test deploys to, as it came up."""
    trio.clear("node3")
    trio.on("node3", "sh", "-c", f"docker image inspect kept >/dev/null || docker tag {ENGINE} kept")
    trio.on("node3", "docker", "tag", "kept", ENGINE)
    yield trio
    trio.on("node3", "docker", "tag", "kept", ENGINE)


def image(lab: Any, name: str) -> str:
    return str(lab.on("node3", "docker", "image", "inspect", "--format", "{{.Id}}", name))


def test_the_engine_is_built_by_the_tool_and_serves(spare):
    """Its layers are in the node's store already, so that this is about the step and not about pip."""
    came = image(spare, ENGINE)
    context = spare.directory / "containers" / "contexts" / "vllm"
    words = ("image", "build", ENGINE, "--on", "node3", "--context", context)
    assert spare.json(*words)["changed"]
    built = image(spare, ENGINE)
    assert built != came
    assert spare.json(*words)["changed"] is False
    spare.deploy("solo", "--limit", "node3", "--set", "env.LAB_ENGINE=standin")
    runs = spare.on("node3", "docker", "inspect", "--format", "{{.Image}}", spare.one("node3", "server"))
    assert runs == built
    assert spare.ask("node3", key=spare.key("node3")).tokens == 4
    spare.json("stop", "--limit", "node3")


def test_a_build_outlives_the_control_process_and_is_taken_up_by_the_next(spare, eventually, tmp_path):
    (tmp_path / "Dockerfile").write_text(SLOW)
    (tmp_path / "tag").write_text(str(tmp_path))
    words = ("image", "build", "slow-one", "--on", "node3", "--context", tmp_path)
    process = spare.start(*words)
    assert eventually(lambda: spare.ran_on("node3", "pgrep", "-f", "^sleep 3600").returncode == 0)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    (job,) = [one for one in spare.json("jobs", "--limit", "node3")["jobs"] if one["state"] == "running"]
    following = spare.start(*words, "--json")
    assert any("RUN sleep" in line for line in following.stderr), "it tells how far the job is"
    spare.on("node3", "pkill", "-f", "^sleep 3600")
    shown = spare.ended(following).document
    assert (shown["job"], shown["changed"]) == (job["id"], True)
    assert image(spare, "slow-one") == shown["id"]
    assert spare.json(*words)["changed"] is False
    spare.on("node3", "docker", "rmi", "slow-one")
