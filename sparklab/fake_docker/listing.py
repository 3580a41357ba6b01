"""`docker ps` and `docker inspect`."""

import json
import re
from collections.abc import Callable
from typing import Any

from sparklab.fake_docker import template
from sparklab.fake_docker.errors import DockerError
from sparklab.fake_docker.human import ago
from sparklab.fake_docker.images import find as find_image
from sparklab.fake_docker.images import shown
from sparklab.fake_docker.store import NEVER, Container, containers, find, seconds
from sparklab.fake_docker.view import view
from sparklab.layout import Node
from sparklab.tools.say import err, out

WIDE = "{:<14} {:<24} {:<24} {:<16} {:<24} {:<9} {}"


def ps(node: Node, words: list[str]) -> int:
    form = template.option(words)
    filters: list[str] = []
    flags: set[str] = set()
    rest = list(words)
    while rest:
        word, equals, value = rest.pop(0).partition("=")
        if word in ("--filter", "-f"):
            filters.append(value if equals else rest.pop(0))
        elif word.startswith("--"):
            flags.add(word)
        else:
            flags |= {"--all" if letter == "a" else "--quiet" if letter == "q" else letter for letter in word[1:]}
    chosen = [c for c in containers(node) if _shown(c, flags, filters)]
    if not form and "--quiet" not in flags:
        out(WIDE.format("CONTAINER ID", "IMAGE", "COMMAND", "CREATED", "STATUS", "PORTS", "NAMES"))
    for container in chosen:
        cells = row(container, "--no-trunc" in flags)
        if "--quiet" in flags:
            out(cells["ID"])
        elif form:
            out(template.render(form, cells))
        else:
            out(
                WIDE.format(
                    *(cells[key] for key in ("ID", "Image", "Command", "RunningFor", "Status")), "", cells["Names"]
                )
            )
    return 0


def _shown(container: Container, flags: set[str], filters: list[str]) -> bool:
    by_state = any(entry.startswith("status=") for entry in filters)
    if "--all" not in flags and not by_state and container.state()["status"] not in ("running", "restarting"):
        return False
    named: dict[str, list[bool]] = {}
    for entry in filters:
        kind, _, value = entry.partition("=")
        if kind not in MATCHES:
            raise DockerError(f"Error response from daemon: invalid filter '{kind}'")
        named.setdefault(kind, []).append(MATCHES[kind](container, value))
    return all(all(hits) if kind == "label" else any(hits) for kind, hits in named.items())


def _label(container: Container, value: str) -> bool:
    key, equals, wanted = value.partition("=")
    labels = container.config["labels"]
    return key in labels and (not equals or labels[key] == wanted)


def _name(container: Container, value: str) -> bool:
    return bool(re.search(value, "/" + container.name) or re.search(value, container.name))


MATCHES: dict[str, Callable[[Container, str], bool]] = {
    "label": _label,
    "name": _name,
    "id": lambda c, value: c.id.startswith(value),
    "status": lambda c, value: c.state()["status"] == value,
    "ancestor": lambda c, value: value in (c.config["image"], c.config["image_id"]),
}


def row(container: Container, whole: bool) -> dict[str, Any]:
    config, state = container.config, container.state()
    command = " ".join(
        f"'{word}'" if " " in word or not word else word for word in [*config["entrypoint"], *config["command"]]
    )
    created = seconds(config["created"])
    return {
        "Command": json.dumps(
            command if whole else command[:19] + "…" if len(command) > 20 else command, ensure_ascii=False
        ),
        "CreatedAt": config["created"].replace("T", " ")[:19] + " +0000 UTC",
        "ID": container.id if whole else container.id[:12],
        "Image": config["image"],
        "Labels": ",".join(f"{key}={value}" for key, value in config["labels"].items()),
        "LocalVolumes": "0",
        "Mounts": ",".join(volume.partition(":")[0] for volume in config["volumes"]),
        "Names": container.name,
        "Networks": config["options"].get("--network", config["options"].get("--net", "bridge")),
        "Platform": None,
        "Ports": "",
        "RunningFor": ago(created) + " ago",
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
            since = ago(seconds(state.get("finished", NEVER))) if state.get("finished") else "Less than a second"
            return f"{'Restarting' if word == 'restarting' else 'Exited'} ({state.get('exit_code', 0)}) {since} ago"


def inspect(node: Node, words: list[str]) -> int:
    form = template.option(words)
    kind = next((word.partition("=")[2] for word in words if word.startswith("--type=")), "")
    found: list[dict[str, Any]] = []
    missing: list[str] = []
    for word in [word for word in words if not word.startswith("-")]:
        try:
            if kind == "image":
                raise DockerError(word)
            found.append(view(find(node, word)))
        except DockerError:
            image = find_image(node, word) if kind != "container" else None
            (missing.append(word) if image is None else found.append(shown(image)))
    if form:
        for value in found:
            out(template.render(form, value))
    else:
        out(json.dumps(found, indent=4))
    for word in missing:
        err(
            f"Error: No such object: {word}"
            if kind != "container"
            else f"Error response from daemon: No such container: {word}"
        )
    return 1 if missing else 0
