"""`docker run` and `create`: from options to a container's files, then its shim."""

import os
from typing import Any

from sparklab import files
from sparklab.fake_docker import images, registry, rootfs, start
from sparklab.fake_docker.errors import DockerError, daemon_says
from sparklab.fake_docker.logs import follow
from sparklab.fake_docker.store import Container, claim_name, now
from sparklab.layout import Node
from sparklab.tools.say import err, out

ADJECTIVES = ("eager", "bold", "calm", "vivid", "quiet", "sharp")


def run(node: Node, options: dict[str, Any], rest: list[str]) -> int:
    detach = "detach" in options
    try:
        container = make(node, options, rest)
        start.start(container, attach_stdin="interactive" in options and not detach)
    except DockerError as error:
        code = error.code if error.code > 1 else 125
        raise DockerError(f"docker: {error.message}\n\nRun 'docker run --help' for more information", code) from None
    if detach:
        out(container.id)
        return 0
    follow(container)
    code = int(container.state().get("exit_code", 0))
    if "rm" in options:
        container.remove()
    return code


def create(node: Node, options: dict[str, Any], rest: list[str]) -> int:
    out(make(node, options, rest).id)
    return 0


def make(node: Node, options: dict[str, Any], rest: list[str]) -> Container:
    image = images.find(node, rest[0])
    if image is None:
        err(f"Unable to find image '{images.normal(rest[0])}' locally")
        raise DockerError(registry.unreachable(rest[0]))
    identity = os.urandom(32).hex()
    name = options.get("name") or f"{ADJECTIVES[int(identity[-1], 16) % len(ADJECTIVES)]}_{identity[:6]}"
    config = configuration(node, identity, name, image, rest, options)
    with files.locked(node.path("docker", "lock")):
        claim_name(node, name)
        os.makedirs(node.path("docker", "containers", identity))
        files.write_json(node.path("docker", "containers", identity, "config.json"), config)
    container = Container(node, identity)
    container.save(status="created", restarts=0)
    try:
        rootfs.make(container)
    except DockerError:
        container.remove()
        raise
    return container


def configuration(
    node: Node, identity: str, name: str, image: images.Image, rest: list[str], options: dict[str, Any]
) -> dict[str, Any]:
    entrypoint = options.get("entrypoint")
    default = (image["Config"]["Entrypoint"] or []) if entrypoint is None else [entrypoint] if entrypoint else []
    command = rest[1:] or ([] if entrypoint is not None else image["Config"]["Cmd"])
    if not default and not command:
        raise daemon_says("no command specified")
    policy, _, most = str(options.get("restart", "no")).partition(":")
    if policy not in ("no", "always", "unless-stopped", "on-failure"):
        raise daemon_says(
            f"invalid restart policy: unknown policy '{policy}'; use one of "
            "'no', 'always', 'on-failure', or 'unless-stopped'"
        )
    return {
        "id": identity,
        "name": name,
        "created": now(),
        "image": rest[0],
        "image_id": image["Id"],
        "kind": image["SparklabKind"],
        "entrypoint": default,
        "command": command,
        "env": _environment(image, options),
        "labels": image["Config"]["Labels"] | dict(label.partition("=")[::2] for label in options.get("label", [])),
        "volumes": options.get("volume", []),
        "restart": [policy, int(most or 0)],
        "stop_timeout": int(options["stop-timeout"]) if "stop-timeout" in options else None,
        "workdir": options.get("workdir") or image["Config"]["WorkingDir"],
        "options": options,
    }


def _environment(image: images.Image, options: dict[str, Any]) -> list[str]:
    """Return the image's variables that `run` does not give, then those of `run`."""
    given = options.get("env", [])
    for path in options.get("env-file", []):
        given = [line for line in files.read(path).splitlines() if line and not line.startswith("#")] + given
    given = [entry if "=" in entry else f"{entry}={os.environ.get(entry, '')}" for entry in given]
    names = {entry.partition("=")[0] for entry in given}
    return [*(entry for entry in image["Config"]["Env"] if entry.partition("=")[0] not in names), *given]
