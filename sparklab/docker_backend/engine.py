"""The outer Docker engine: the machine's own if it answers, else one only for this lab."""

import os
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from sparklab import files, processes
from sparklab.docker_backend.place import IMAGE, Place
from sparklab.docker_backend.shell import logged, run, tried
from sparklab.errors import LabError

NEEDED = {
    "docker": "docker.io",
    "dockerd": "docker.io",
    "iptables": "iptables",
    "debootstrap": "debootstrap",
    "ip": "iproute2",
    "mkfs.ext4": "e2fsprogs",
    "nsenter": "util-linux",
}
SECONDS = 300.0
LONGEST_SOCKET = 100


def start(place: Place, images: Path) -> dict[str, Any]:
    """Find or start the engine; returns its address and, if this lab started it, its process.

    A new engine starts with a copy of the image store `images`, if that exists.
    """
    if os.geteuid() != 0:
        raise LabError(
            "the docker lab needs root",
            "its nodes are privileged containers: run it with sudo, or use --backend embedded without root",
        )
    if tried("docker", "version", timeout=20):
        _install([name for name in ("debootstrap", "ip", "mkfs.ext4", "nsenter") if not shutil.which(name)])
        return {"host": os.environ.get("DOCKER_HOST", "unix:///var/run/docker.sock"), "ours": None}
    _install([name for name in NEEDED if not shutil.which(name)])
    return _own(place, images)


def _install(missing: list[str]) -> None:
    if not missing:
        return
    packages = sorted({NEEDED[name] for name in missing})
    if not shutil.which("apt-get"):
        raise LabError(f"these programs are missing: {', '.join(missing)}", f"install {' '.join(packages)}")
    log = Path("/var/log/sparkops-lab-apt.log")
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    apt = ("apt-get", "-qq", "-y", "-o", "DPkg::Lock::Timeout=300")
    logged(log, *apt, "update", env=env)
    logged(log, *apt, "--no-install-recommends", "install", *packages, env=env)


def _own(place: Place, images: Path) -> dict[str, Any]:
    home = place.engine
    socket = home / "docker.sock"
    if len(str(socket)) > LONGEST_SOCKET:
        raise LabError(f"the path {socket} is too long for a socket", "set SPARKOPS_LAB_DIR to a shorter path")
    runtime(home / "bin")
    files.write(home / "daemon.json", "{}\n")
    if images.exists():
        copy_store(images, place.engine_data)
    # fmt: off
    words = [
        "dockerd", "--config-file", str(home / "daemon.json"), "--data-root", str(place.engine_data),
        "--exec-root", str(home / "exec"), "--pidfile", str(home / "pid"), "--host", f"unix://{socket}",
        "--bridge", "none", "--storage-driver", "overlay2", "--log-level", "warn",
        "--iptables=false", "--ip-forward=false", "--ip-masq=false",
    ]
    # fmt: on
    env = {**os.environ, "PATH": f"{home / 'bin'}:{os.environ['PATH']}:/usr/sbin:/sbin"}
    with (home / "log").open("ab") as log:
        daemon = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd="/", env=env, start_new_session=True
        )
    _await(f"unix://{socket}", daemon, home / "log")
    daemon.returncode = 0  # it outlives this process on purpose
    return {"host": f"unix://{socket}", "ours": [daemon.pid, processes.start_of(daemon.pid)]}


def copy_store(source: Path, target: Path) -> None:
    """Copy the images of an engine that does not run into another data directory.

    Metadata is copied; layers are hard links, or copies if the directories are on different disks.
    """
    target.mkdir(parents=True)
    run("cp", "-a", str(source / "image"), str(target))
    if not tried("cp", "-al", str(source / "overlay2"), str(target), timeout=3600):
        shutil.rmtree(target / "overlay2", ignore_errors=True)
        run("cp", "-a", str(source / "overlay2"), str(target))


def runtime(folder: Path) -> None:
    """Write the `runc` that is first on the engine's PATH. It uses this Python: `python3` may be a slow shim."""
    folder.mkdir(parents=True)
    shutil.copy(IMAGE / "node" / "runc.py", folder / "runc.py")
    wrapper = (IMAGE / "node" / "tools" / "runc").read_text()
    files.write(folder / "runc", wrapper.replace("python3", shlex.quote(sys.executable)), 0o755)


def _await(host: str, daemon: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + SECONDS
    while not answers(host):
        if daemon.poll() is not None or time.monotonic() > until:
            tail = files.read(log).strip().splitlines()[-3:]
            raise LabError(
                "the lab's Docker engine did not start: " + "\n".join(tail), "`sparkops lab down`, then try again"
            )
        time.sleep(0.2)


def answers(host: str) -> bool:
    return tried("docker", "version", env=_env(host), timeout=60)


def _env(host: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("DOCKER_")}
    return {**kept, "DOCKER_HOST": host, "DOCKER_BUILDKIT": "0", "DOCKER_CONFIG": "/nonexistent"}


def environment(place: Place) -> dict[str, str]:
    """Variables for a `docker` command to the lab's engine; the operator's own DOCKER_ settings are left out."""
    return _env(place.record["engine"]["host"])


def docker(place: Place, *words: str, timeout: float | None = 120) -> str:
    return run("docker", *words, env=environment(place), timeout=timeout)
