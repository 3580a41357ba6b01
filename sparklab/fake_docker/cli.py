"""`docker`: calls the function of a command, if the user may use the engine."""

import importlib
import os

from sparklab.fake_docker.errors import DockerError
from sparklab.fake_docker.options import COMMANDS, parse
from sparklab.layout import Node, here
from sparklab.tools.say import err, out

DENIED = "permission denied while trying to connect to the docker API at unix:///var/run/docker.sock"

GROUPS = ("container", "image", "system")
ALIASES = {"container ls": "ps", "image ls": "images", "image rm": "rmi", "image inspect": "image inspect"}
READS_FILES = {"ps", "inspect", "logs", "images", "image inspect", "version", "info"}


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
    """Return whether the command only reads files and waits for nothing."""
    command, rest = _command(words)
    return command in READS_FILES and not (command == "logs" and "follow" in parse(command, rest)[0])


def _dispatch(node: Node, words: list[str]) -> int:
    if not words:
        raise DockerError("Usage:  docker [OPTIONS] COMMAND", 0)
    if words[0] == "--config":
        os.environ["DOCKER_CONFIG"] = words[1]
        words = words[2:]
    command, rest = _command(words)
    if command not in COMMANDS:
        raise DockerError(f"docker: unknown command: docker {command}\n\nRun 'docker --help' for more information")
    options, rest = parse(command, rest)
    if node.fault("no-docker-group") and os.environ.get("SPARKLAB_SUDO") != "1":
        if command in ("run", "create"):
            raise DockerError(f"docker: {DENIED}\n\nRun 'docker run --help' for more information", 125)
        if command not in ("version", "info"):
            raise DockerError(DENIED)
        options["denied"] = DENIED
    module, _, function = COMMANDS[command][0].partition(".")
    call = getattr(importlib.import_module(f"sparklab.fake_docker.{module}"), function)
    return int(call(node, options, rest))


def _command(words: list[str]) -> tuple[str, list[str]]:
    """Return the command by its short name (`ps` for `container ls`), and its words."""
    command, *rest = words or [""]
    if command in GROUPS and rest:
        command, *rest = [ALIASES.get(f"{command} {rest[0]}", rest[0]), *rest[1:]]
    return command, rest
