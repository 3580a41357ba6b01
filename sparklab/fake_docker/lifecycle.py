"""start, stop, kill, restart, rm, exec, wait, rename."""

import os
import signal
from collections.abc import Callable

from sparklab import files
from sparklab.fake_docker import rootfs
from sparklab.fake_docker.errors import DockerError, daemon_says
from sparklab.fake_docker.start import start as start_container
from sparklab.fake_docker.store import Container, claim_name, containers, find
from sparklab.layout import Node
from sparklab.tools.say import err, out

DEFAULT_STOP = 10.0
FOREVER = 10.0**9


def _each(node: Node, words: list[str], do: Callable[[Container], None]) -> int:
    """Every name in turn; the errors do not keep the others from their turn."""
    code = 0
    for word in words:
        try:
            do(find(node, word))
            out(word)
        except DockerError as error:
            err(error.message)
            code = 1
    return code


def _take(words: list[str], *names: str) -> str | None:
    """Take an option and its value out of the words."""
    for place, word in enumerate(words):
        name, equals, value = word.partition("=")
        if name in names:
            if equals:
                del words[place]
                return value
            value = words[place + 1]
            del words[place : place + 2]
            return value
    return None


def start(node: Node, words: list[str]) -> int:
    names = [word for word in words if not word.startswith("-")]
    code = _each(node, names, start_container)
    if code:
        err(f"failed to start containers: {', '.join(names)}")
    return code


def stop(node: Node, words: list[str]) -> int:
    words = list(words)
    _take(words, "-s", "--signal")
    given = _take(words, "-t", "--timeout", "--time")
    return _each(node, words, lambda c: c.stop(_patience(c, given)))


def _patience(container: Container, given: str | None) -> float:
    if given is not None:
        return float(given) if float(given) >= 0 else FOREVER
    kept = container.config["stop_timeout"]
    return DEFAULT_STOP if kept is None else float(kept)


def restart(node: Node, words: list[str]) -> int:
    words = list(words)
    given = _take(words, "-t", "--timeout", "--time")

    def again(container: Container) -> None:
        container.stop(_patience(container, given))
        start_container(container)

    return _each(node, words, again)


def kill(node: Node, words: list[str]) -> int:
    words = list(words)
    name = (_take(words, "-s", "--signal") or "KILL").upper().removeprefix("SIG")
    number = int(name) if name.isdigit() else signal.Signals[f"SIG{name}"].value

    def send(container: Container) -> None:
        if container.state()["status"] != "running":
            raise daemon_says(f"cannot kill container: {container.name}: container {container.id} is not running")
        if number == signal.SIGKILL:
            container.kill()
        else:
            container.signal(number)

    return _each(node, words, send)


def remove(node: Node, words: list[str]) -> int:
    flags = {letter for word in words if word.startswith("-") and not word.startswith("--") for letter in word[1:]}
    force = "f" in flags or "--force" in words
    names = [word for word in words if not word.startswith("-")]
    if not names:
        raise DockerError(
            "docker: 'docker rm' requires at least 1 argument\n\n"
            "Usage:  docker rm [OPTIONS] CONTAINER [CONTAINER...]\n\nSee 'docker rm --help' for more information"
        )
    code = 0
    for word in names:
        try:
            _remove(find(node, word), word, force)
        except DockerError as error:
            err(error.message)
            code = code if force and "No such container" in error.message else 1
            continue
        out(word)
    return code


def _remove(container: Container, word: str, force: bool) -> None:
    if container.state()["status"] in ("running", "restarting"):
        if not force:
            raise daemon_says(
                f'cannot remove container "/{container.name}": container is running: stop the container before '
                "removing or force remove"
            )
        container.kill()
    container.remove()


def execute(node: Node, words: list[str]) -> int:
    """Becomes the command; without `-i` it reads nothing."""
    rest, given, interactive, detach = list(words), [], False, False
    while rest and rest[0].startswith("-"):
        word, equals, value = rest.pop(0).partition("=")
        if word in ("-e", "--env", "-w", "--workdir", "-u", "--user"):
            entry = value if equals and word.startswith("--") else rest.pop(0)
            given += [entry] if word in ("-e", "--env") else []
        elif word.startswith("--"):
            interactive |= word == "--interactive"
            detach |= word == "--detach"
        else:
            interactive |= "i" in word
            detach |= "d" in word
    container = find(node, rest.pop(0))
    if container.state()["status"] != "running":
        raise daemon_says(f"container {container.id} is not running")
    environment = rootfs.environment(container) | dict(entry.partition("=")[::2] for entry in given)
    try:
        program = rootfs.program(container, rest[0], environment["PATH"])
    except DockerError:
        raise DockerError(
            "OCI runtime exec failed: exec failed: unable to start container process: "
            f'exec: "{rest[0]}": executable file not found in $PATH',
            127,
        ) from None
    if detach and os.fork():
        return 0
    if not interactive:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.chdir(container.path("rootfs"))
    return os.execve(program, rest, environment)


def wait(node: Node, words: list[str]) -> int:
    for word in words:
        container = find(node, word)
        container.wait(FOREVER)
        out(str(container.state().get("exit_code", 0)))
    return 0


def rename(node: Node, words: list[str]) -> int:
    container = find(node, words[0])
    with files.locked(node.path("docker", "lock")):
        claim_name(node, words[1])
        files.write_json(container.path("config.json"), container.config | {"name": words[1]})
    return 0


def prune(node: Node, words: list[str]) -> int:
    for container in containers(node):
        if container.state()["status"] in ("exited", "created"):
            container.remove()
            out(container.id)
    return 0
