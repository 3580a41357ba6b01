"""`docker version` and `docker info` of a stock DGX OS: no `nvidia` runtime, though `--gpus all` works."""

import json
from typing import Any

from sparklab.fake_docker import template
from sparklab.fake_docker.errors import DockerError
from sparklab.fake_docker.images import images
from sparklab.fake_docker.store import containers, now
from sparklab.layout import Node, captured
from sparklab.tools.say import out

CLIENT = "Client: Docker Engine - Community\n Version:           29.2.1\n OS/Arch:           linux/arm64"
SERVER = "\nServer: Docker Engine - Community\n Engine:\n  Version:          29.2.1\n  OS/Arch:          linux/arm64"


def version(node: Node, options: dict[str, Any], _: list[str]) -> int:
    value, denied = json.loads(captured("docker-version.json")), "denied" in options
    if denied:
        value["Server"] = None
    return _say(options, value, CLIENT if denied else f"{CLIENT}\n{SERVER}")


def info(node: Node, options: dict[str, Any], _: list[str]) -> int:
    value, every = json.loads(captured("docker-info.json")), containers(node)
    if "denied" in options:
        nobody = {name: value[name] for name in ("ID", "Containers", "ContainersRunning", "Images")}
        nobody |= {"ServerVersion": "", "Runtimes": None, "ClientInfo": {"Version": value["ServerVersion"]}}
        return _say(options, nobody, "Client: Docker Engine - Community\n Version:    29.2.1\n\nServer:")
    running = sum(one.state()["status"] == "running" for one in every)
    value |= {
        "ID": node.record["machine_id"],
        "Containers": len(every),
        "ContainersRunning": running,
        "ContainersStopped": len(every) - running,
        "Images": len(images(node)),
        "SystemTime": now(),
        "Name": node.hostname,
    }
    return _say(options, value, json.dumps(value, indent=1))


def _say(options: dict[str, Any], value: dict[str, Any], text: str) -> int:
    """Print the answer; then fail if the user may not ask the engine. Return the exit code."""
    out(template.render(options["format"], value) if "format" in options else text)
    if "denied" in options:
        raise DockerError(options["denied"])
    return 0
