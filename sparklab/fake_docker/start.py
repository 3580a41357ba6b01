"""Starts a container: starts its shim, detached, and waits until the shim says that the first process runs."""

import os
import signal
import sys

from sparklab.fake_docker import rootfs
from sparklab.fake_docker.errors import daemon_says
from sparklab.fake_docker.store import Container, containers, send
from sparklab.layout import PACKAGE_ROOT, here

MAIN = os.path.join(PACKAGE_ROOT, "sparklab", "tools", "main.py")
KEPT = ("SPARKLAB_LAB", "SPARKLAB_NODE", "PATH", "LANG", "HOME")


def start(container: Container, attach_stdin: bool = False) -> None:
    """Start a container unless it runs; raise `DockerError` if its program cannot start."""
    import subprocess

    if container.runs:
        return
    environment = rootfs.environment(container)
    rootfs.program(container, rootfs.words(container)[0], environment["PATH"])
    if os.path.exists(container.path("stopped")):
        os.unlink(container.path("stopped"))
    shim = subprocess.Popen(
        [sys.executable, "-I", "-S", MAIN, "shim", container.node.directory, container.id],
        stdin=None if attach_stdin else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={name: os.environ[name] for name in KEPT if name in os.environ},
        cwd="/",
        start_new_session=True,
    )
    assert shim.stdout
    said = shim.stdout.read().decode()
    shim.returncode = 0  # it outlives us on purpose
    if said != "started":
        send(shim.pid, signal.SIGKILL)
        raise daemon_says(f"failed to start container: {said}")


def main(name: str, words: list[str]) -> int:
    """`dockerd` at boot: start the containers whose restart policy wants it."""
    for container in reversed(containers(here())):
        state, policy = container.state(), container.config["restart"][0]
        if state["status"] in ("created", "running", "restarting"):  # began after the boot
            continue
        container.save(status="exited", pid=0, exit_code=state.get("exit_code", 137))
        if policy == "always" or (policy == "unless-stopped" and not container.stopped_by_hand):
            start(container)
    return 0
