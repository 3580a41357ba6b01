"""start, stop, kill, restart, rm, exec, wait, rename."""

import os
import signal
from collections.abc import Callable
from typing import Any

from sparklab import files
from sparklab.fake_docker import rootfs
from sparklab.fake_docker.errors import DockerError, daemon_says
from sparklab.fake_docker.start import start as start_container
from sparklab.fake_docker.store import Container, claim_name, find
from sparklab.layout import Node
from sparklab.tools.say import err, out

DEFAULT_STOP = 10.0
FOREVER = 10.0**9


def _each(node: Node, names: list[str], do: Callable[[Container], None], may_be_gone: bool = False) -> int:
    """Apply `do` to each container and print its name or the error; return 1 after an error, else 0.

    With `may_be_gone` a missing container does not count as an error.
    """
    code = 0
    for name in names:
        try:
            do(find(node, name))
            out(name)
        except DockerError as error:
            err(error.message)
            if not (may_be_gone and "No such container" in error.message):
                code = 1
    return code


def start(node: Node, options: dict[str, Any], names: list[str]) -> int:
    code = _each(node, names, start_container)
    if code:
        err(f"failed to start containers: {', '.join(names)}")
    return code


def stop(node: Node, options: dict[str, Any], names: list[str]) -> int:
    return _each(node, names, lambda container: container.stop(_patience(container, options)))


def _patience(container: Container, options: dict[str, Any]) -> float:
    given = options.get("timeout", options.get("time", container.config["stop_timeout"]))
    seconds = DEFAULT_STOP if given is None else float(given)
    return seconds if seconds >= 0 else FOREVER


def restart(node: Node, options: dict[str, Any], names: list[str]) -> int:
    def again(container: Container) -> None:
        container.stop(_patience(container, options))
        start_container(container)

    return _each(node, names, again)


def kill(node: Node, options: dict[str, Any], names: list[str]) -> int:
    name = options.get("signal", "KILL").upper().removeprefix("SIG")
    number = int(name) if name.isdigit() else signal.Signals[f"SIG{name}"].value

    def send(container: Container) -> None:
        if container.state()["status"] != "running":
            raise daemon_says(f"cannot kill container: {container.name}: container {container.id} is not running")
        if number == signal.SIGKILL:
            container.kill()
        else:
            container.signal(number)

    return _each(node, names, send)


def remove(node: Node, options: dict[str, Any], names: list[str]) -> int:
    force = "force" in options

    def away(container: Container) -> None:
        if container.runs:
            if not force:
                raise daemon_says(
                    f'cannot remove container "/{container.name}": container is running: stop the container before '
                    "removing or force remove"
                )
            container.kill()
        container.remove()

    return _each(node, names, away, may_be_gone=force)


def execute(node: Node, options: dict[str, Any], words: list[str]) -> int:
    """Replace this process by the command; without `-i` its stdin is empty."""
    name, *command = words
    container = find(node, name)
    if container.state()["status"] != "running":
        raise daemon_says(f"container {container.id} is not running")
    environment = rootfs.environment(container)
    environment |= dict(entry.partition("=")[::2] for entry in options.get("env", []))
    try:
        program = rootfs.program(container, command[0], environment["PATH"])
    except DockerError:
        raise DockerError(
            "OCI runtime exec failed: exec failed: unable to start container process: "
            f'exec: "{command[0]}": executable file not found in $PATH',
            127,
        ) from None
    if "detach" in options and os.fork():
        return 0
    if "interactive" not in options:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.chdir(container.path("rootfs"))
    return os.execve(program, command, environment)


def wait(node: Node, options: dict[str, Any], names: list[str]) -> int:
    for name in names:
        container = find(node, name)
        container.wait(FOREVER)
        out(str(container.state().get("exit_code", 0)))
    return 0


def rename(node: Node, options: dict[str, Any], names: list[str]) -> int:
    container = find(node, names[0])
    with files.locked(node.path("docker", "lock")):
        claim_name(node, names[1])
        files.write_json(container.path("config.json"), container.config | {"name": names[1]})
    return 0
