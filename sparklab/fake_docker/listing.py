"""`docker ps`, `docker top` and `docker inspect`."""

import json
import os
import re
from collections.abc import Callable
from typing import Any

from sparklab.fake_docker import template
from sparklab.fake_docker.errors import DockerError, daemon_says
from sparklab.fake_docker.human import ago
from sparklab.fake_docker.images import find as find_image
from sparklab.fake_docker.images import shown
from sparklab.fake_docker.store import Container, containers, find, seconds
from sparklab.fake_docker.view import view
from sparklab.files import read
from sparklab.layout import Node
from sparklab.tools.say import out

WIDE = "{ID:<14} {Image:<24} {Command:<24} {RunningFor:<16} {Status:<24} {Ports:<9} {Names}"
TITLES = {"ID": "CONTAINER ID", "RunningFor": "CREATED"} | {
    name: name.upper() for name in ("Image", "Command", "Status", "Ports", "Names")
}


def ps(node: Node, options: dict[str, Any], _: list[str]) -> int:
    rows = [_row(one, "no-trunc" in options) for one in containers(node) if _chosen(one, options)]
    return template.table(options, rows, WIDE, TITLES)


def top(node: Node, _options: dict[str, Any], words: list[str]) -> int:
    """Print the processes of a container in the only form that is asked for."""
    name, *columns = words
    if columns != ["-eo", "pid,times,args"]:
        raise DockerError(f"docker top: the lab does not know the form {columns}")
    container = find(node, name)
    if not container.runs:
        raise daemon_says(f"container {container.id} is not running")
    out("PID                 TIME                COMMAND")
    for process in container.processes():
        line = read(f"/proc/{process.pid}/cmdline").replace("\0", " ").replace("\n", "?").strip()  # as ps shows it
        out(f"{process.pid:<20}{process.cpu // os.sysconf('SC_CLK_TCK'):<20}{line}")
    return 0


def _chosen(container: Container, options: dict[str, Any]) -> bool:
    named: dict[str, list[bool]] = {}
    for entry in options.get("filter", []):
        kind, _, value = entry.partition("=")
        if kind not in MATCHES:
            raise daemon_says(f"invalid filter '{kind}'")
        named.setdefault(kind, []).append(MATCHES[kind](container, value))
    if "all" not in options and "status" not in named and not container.runs:
        return False
    return all(all(hits) if kind == "label" else any(hits) for kind, hits in named.items())


def _label(container: Container, value: str) -> bool:
    key, equals, wanted = value.partition("=")
    labels = container.config["labels"]
    return key in labels and (not equals or labels[key] == wanted)


MATCHES: dict[str, Callable[[Container, str], bool]] = {
    "label": _label,
    "name": lambda c, value: any(re.search(value, name) for name in (f"/{c.name}", c.name)),
    "id": lambda c, value: c.id.startswith(value),
    "status": lambda c, value: c.state()["status"] == value,
    "ancestor": lambda c, value: value in (c.config["image"], c.config["image_id"]),
}


def _row(container: Container, whole: bool) -> dict[str, Any]:
    config, state = container.config, container.state()
    words = [*config["entrypoint"], *config["command"]]
    command = " ".join(f"'{word}'" if " " in word or not word else word for word in words)
    if not whole and len(command) > 20:
        command = command[:19] + "…"
    return {
        "Command": json.dumps(command, ensure_ascii=False),
        "CreatedAt": config["created"].replace("T", " ")[:19] + " +0000 UTC",
        "ID": container.id if whole else container.id[:12],
        "Image": config["image"],
        "Labels": ",".join(f"{key}={value}" for key, value in config["labels"].items()),
        "LocalVolumes": "0",
        "Mounts": ",".join(volume.partition(":")[0] for volume in config["volumes"]),
        "Names": container.name,
        "Networks": config["options"].get("network", config["options"].get("net", "bridge")),
        "Platform": None,
        "Ports": "",
        "RunningFor": ago(seconds(config["created"])) + " ago",
        "Size": "0B",
        "State": state["status"],
        "Status": _status(state),
    }


def _status(state: dict[str, Any]) -> str:
    match state["status"]:
        case "running":
            return f"Up {ago(seconds(state['started']))}"
        case "created":
            return "Created"
        case word:
            since = ago(seconds(state["finished"])) if state.get("finished") else "Less than a second"
            return f"{'Restarting' if word == 'restarting' else 'Exited'} ({state.get('exit_code', 0)}) {since} ago"


def inspect(node: Node, options: dict[str, Any], names: list[str]) -> int:
    """Print the containers, else images, with these names."""
    found: list[dict[str, Any]] = []
    missing: list[str] = []
    for name in names:
        try:
            found.append(view(find(node, name)))
        except DockerError:
            image = find_image(node, name)
            (missing.append(name) if image is None else found.append(shown(image)))
    return template.show(options, found, [f"Error: No such object: {name}" for name in missing])
