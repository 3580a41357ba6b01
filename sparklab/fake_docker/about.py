"""`docker version` and `docker info` of a stock DGX OS: no `nvidia` runtime, though `--gpus all` works."""

import json
from typing import Any

from sparklab.fake_docker import template
from sparklab.fake_docker.errors import DockerError
from sparklab.fake_docker.images import images
from sparklab.fake_docker.store import containers, now
from sparklab.layout import Node
from sparklab.tools.say import out
from sparklab.tree.etc import KERNEL
from sparklab.tree.memory import TOTAL

VERSION = "29.2.1"
BUILD = "a5c7197"


def version(node: Node, words: list[str], denied: str = "") -> int:
    form = template.option(words)
    common = {
        "Version": VERSION,
        "ApiVersion": "1.53",
        "Os": "linux",
        "Arch": "arm64",
        "GitCommit": BUILD,
        "GoVersion": "go1.25.6",
    }
    client = {**common, "DefaultAPIVersion": "1.53", "BuildTime": "Mon Feb  2 17:17:30 2026", "Context": "default"}
    server = {
        **common,
        "Platform": {"Name": "Docker Engine - Community"},
        "MinAPIVersion": "1.44",
        "KernelVersion": KERNEL,
        "BuildTime": "2026-02-02T17:17:30.000000000+00:00",
        "Components": [{"Name": "Engine", "Version": VERSION}, {"Name": "containerd", "Version": "v2.2.1"}],
    }
    value = {"Client": client, "Server": None if denied else server}
    if form:
        out(template.render(form, value))
    else:
        out(f"Client: Docker Engine - Community\n Version:           {VERSION}\n OS/Arch:           linux/arm64")
        if not denied:
            out(
                f"\nServer: Docker Engine - Community\n Engine:\n  Version:          {VERSION}\n"
                "  OS/Arch:          linux/arm64"
            )
    if denied:
        raise DockerError(denied)
    return 0


def info(node: Node, words: list[str], denied: str = "") -> int:
    form = template.option(words)
    value = _empty() if denied else _info(node)
    if form:
        out(template.render(form, value))
    elif denied:
        out(f"Client: Docker Engine - Community\n Version:    {VERSION}\n\nServer:")
    else:
        out(json.dumps(value, indent=1))
    if denied:
        raise DockerError(denied)
    return 0


def _empty() -> dict[str, Any]:
    return {
        "ID": "",
        "Containers": 0,
        "ContainersRunning": 0,
        "Images": 0,
        "ServerVersion": "",
        "Runtimes": None,
        "ClientInfo": {"Version": VERSION},
    }


def _info(node: Node) -> dict[str, Any]:
    every = containers(node)
    running = sum(c.state()["status"] == "running" for c in every)
    return {
        "ID": node.record["machine_id"],
        "Containers": len(every),
        "ContainersRunning": running,
        "ContainersPaused": 0,
        "ContainersStopped": len(every) - running,
        "Images": len(images(node)),
        "Driver": "overlay2",
        "LoggingDriver": "json-file",
        "CgroupDriver": "systemd",
        "CgroupVersion": "2",
        "SystemTime": now(),
        "KernelVersion": KERNEL,
        "OperatingSystem": "Ubuntu 24.04.4 LTS",
        "OSVersion": "24.04",
        "OSType": "linux",
        "Architecture": "aarch64",
        "NCPU": 20,
        "MemTotal": TOTAL * 1024,
        "DockerRootDir": "/var/lib/docker",
        "Name": node.hostname,
        "Labels": [],
        "ServerVersion": VERSION,
        "Runtimes": {"io.containerd.runc.v2": {"path": "runc"}, "runc": {"path": "runc"}},
        "DefaultRuntime": "runc",
        "CDISpecDirs": ["/etc/cdi", "/var/run/cdi"],
        "LiveRestoreEnabled": False,
        "SecurityOptions": ["name=apparmor", "name=seccomp,profile=builtin", "name=cgroupns"],
        "Warnings": None,
        "ClientInfo": {"Debug": False, "Version": VERSION, "Context": "default", "Plugins": [], "Warnings": None},
    }
