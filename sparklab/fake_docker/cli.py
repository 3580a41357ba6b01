"""`docker`: which command goes where, and who may speak to the engine at all."""

import importlib
import os
import re
from collections.abc import Callable

from sparklab.fake_docker.errors import DockerError
from sparklab.layout import Node, here
from sparklab.tools.say import err, out
from sparklab.tree import canned_answers

SOCKET = "unix:///var/run/docker.sock"
DENIED = f"permission denied while trying to connect to the docker API at {SOCKET}"

COMMANDS = {
    "run": ("run", "run"),
    "create": ("run", "create"),
    "ps": ("listing", "ps"),
    "inspect": ("listing", "inspect"),
    "logs": ("logs", "main"),
    "start": ("lifecycle", "start"),
    "stop": ("lifecycle", "stop"),
    "restart": ("lifecycle", "restart"),
    "kill": ("lifecycle", "kill"),
    "rm": ("lifecycle", "remove"),
    "exec": ("lifecycle", "execute"),
    "wait": ("lifecycle", "wait"),
    "rename": ("lifecycle", "rename"),
    "images": ("images", "listing"),
    "rmi": ("images", "remove"),
    "tag": ("images", "tag"),
    "pull": ("registry", "pull"),
    "login": ("registry", "login"),
    "save": ("images", "save"),
    "load": ("images", "load"),
    "build": ("building", "main"),
    "version": ("about", "version"),
    "info": ("about", "info"),
}
GROUPS = {
    "container": {"ls": "ps", "list": "ps", "rm": "rm", "inspect": "inspect", "prune": "prune"},
    "image": {
        "ls": "images",
        "list": "images",
        "rm": "rmi",
        "inspect": "image inspect",
        "tag": "tag",
        "pull": "pull",
        "save": "save",
        "load": "load",
        "build": "build",
    },
    "system": {"info": "info"},
}
ASKS = {"ps", "inspect", "logs", "wait", "images", "image inspect", "save", "version", "info", "exec"}
OF_IMAGES = {"rmi", "tag", "pull", "load", "build"}
FILES_ONLY = ASKS - {"wait", "save", "exec"}
FOLLOWS = re.compile(r"--follow(=.*)?|-\w*f\w*")
EXTRA = {"image inspect": ("images", "inspect"), "prune": ("lifecycle", "prune")}


def main(name: str, words: list[str]) -> int:
    node = here()
    if words[:1] in (["--version"], ["-v"]):
        out("Docker version 29.2.1, build a5c7197")
        return 0
    try:
        return _dispatch(node, words)
    except DockerError as error:
        err(error.message)
        return error.code


def at_once(node: Node, words: list[str]) -> bool:
    """Is the answer in files, with nothing to wait for?"""
    verb, rest = _verb(words) if words else ("", [])
    return verb in FILES_ONLY and not (verb == "logs" and any(FOLLOWS.fullmatch(word) for word in rest))


def _dispatch(node: Node, words: list[str]) -> int:
    if not words:
        raise DockerError("Usage:  docker [OPTIONS] COMMAND", 0)
    if words[0] == "--config":
        os.environ["DOCKER_CONFIG"] = words[1]
        words = words[2:]
    verb, rest = _verb(words)
    if verb not in COMMANDS and verb not in EXTRA:
        raise DockerError(f"docker: unknown command: docker {verb}\n\nRun 'docker --help' for more information")
    module, function = (COMMANDS | EXTRA)[verb]
    call = getattr(importlib.import_module(f"sparklab.fake_docker.{module}"), function)
    if node.fault("no-docker-group") and os.environ.get("SPARKLAB_SUDO") != "1":
        if module == "about":
            return int(call(node, rest, DENIED))
        if verb in ("run", "create"):
            raise DockerError(f"docker: {DENIED}\n\nRun 'docker run --help' for more information", 125)
        raise DockerError(DENIED)
    if verb in ASKS:
        return int(call(node, rest))
    return _change(node, call, rest, canned_answers.OF_IMAGES if verb in OF_IMAGES else canned_answers.OF_CONTAINERS)


def _verb(words: list[str]) -> tuple[str, list[str]]:
    """The command by its short name, and its words."""
    verb, rest = words[0], list(words[1:])
    if verb in GROUPS and rest:
        inner = rest.pop(0)
        verb = GROUPS[verb].get(inner, inner)
    return verb, rest


def _change(node: Node, call: Callable[[Node, list[str]], int], words: list[str], changed: tuple[str, ...]) -> int:
    """What was written down of this node is no longer so, before and after."""
    canned_answers.forget(node, *changed)
    try:
        return int(call(node, words))
    finally:
        canned_answers.forget(node, *changed)
