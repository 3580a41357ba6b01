"""Starting a container means starting its shim, detached, and hearing from it that the first process runs."""

import os
import sys

from sparklab import processes
from sparklab.fake_docker import rootfs
from sparklab.fake_docker.errors import daemon_says
from sparklab.fake_docker.store import Container
from sparklab.layout import PACKAGE_ROOT

MAIN = os.path.join(PACKAGE_ROOT, "sparklab", "tools", "main.py")
KEPT = ("SPARKLAB_LAB", "SPARKLAB_NODE", "PATH", "LANG", "HOME")


def start(container: Container, attach_stdin: bool = False) -> None:
    """Nothing to do where it runs."""
    import subprocess

    if container.state()["status"] in ("running", "restarting"):
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
        processes.send([p for p in [processes.look(shim.pid)] if p], 9)
        raise daemon_says(f"failed to start container: {said}")
