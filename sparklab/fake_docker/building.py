"""`docker build`: prints the steps of the Dockerfile as BuildKit does and makes a record; nothing is executed."""

import os
import re
import time
from typing import Any

from sparklab import files
from sparklab.fake_docker import images
from sparklab.fake_docker.errors import DockerError
from sparklab.fake_docker.images import Image, find, normal
from sparklab.fake_docker.store import now
from sparklab.layout import Node
from sparklab.tools.say import err, out
from sparklab.tree.images import IMAGES, digest, inspect

SECONDS = 20.0
"""How long all steps together take on a lab node of speed 1."""
SCRATCH_SIZE = 35_000_000_000


def build(node: Node, options: dict[str, Any], paths: list[str]) -> int:
    if len(paths) != 1:
        raise DockerError('ERROR: docker: "docker build" requires exactly 1 argument')
    steps = _steps(options.get("file", os.path.join(paths[0], "Dockerfile")))
    if "quiet" not in options:
        _play(node, steps)
    image = _made(node, steps, options, _context(paths[0]))
    images.put(node, image, *image["RepoTags"])
    if "quiet" in options:
        out(image["Id"])
    return 0


def _steps(file: str) -> list[str]:
    text = files.read(file)
    if not text:
        name = os.path.basename(file)
        raise DockerError(f"ERROR: failed to solve: failed to read dockerfile: open {name}: no such file or directory")
    joined = re.sub(r"\\\n", " ", text)
    return [" ".join(line.split()) for line in joined.splitlines() if re.match(r"\s*[A-Z]+\s", line)]


def _play(node: Node, steps: list[str]) -> None:
    for number, step in enumerate(steps, 1):
        err(f"#{number + 4} [{number}/{len(steps)}] {step}")
        time.sleep(node.seconds(SECONDS) / len(steps))
        if "no-such-command" in step:
            err(f"#{number + 4} 0.214 /bin/sh: 1: no-such-command: not found")
            process = f'process "/bin/sh -c {step[4:]}" did not complete successfully'
            err(f"ERROR: failed to solve: {process}: exit code: 127")
            raise DockerError("")
        err(f"#{number + 4} DONE 0.1s")


def _made(node: Node, steps: list[str], options: dict[str, Any], context: str) -> Image:
    """Return the image. Names of the lab's own images get their layers; others get those of their base, or 35 GB."""
    tags = [normal(tag) for tag in options.get("tag", [])]
    labels = dict(entry.partition("=")[::2] for entry in options.get("label", []))
    base = next((find(node, step.split()[1]) for step in steps if step.startswith("FROM ")), None)
    known = next((inspect(tag) for tag in tags if tag in IMAGES and not base), None)
    start = base or known or _scratch(context)
    arguments = options.get("build-arg", [])
    key = "\n".join([*steps, *tags, *arguments, context, *(f"{k}={v}" for k, v in sorted(labels.items()))])
    added = [digest(f"{step} {context}") for step in steps if step.startswith(("RUN", "COPY", "ADD"))]
    return start | {
        "Id": digest(key + str(start["Id"])),
        "RepoTags": tags,
        "RepoDigests": [],
        "Created": now(),
        "Config": start["Config"] | {"Labels": (start["Config"].get("Labels") or {}) | labels},
        "RootFS": {"Type": "layers", "Layers": [*start["RootFS"]["Layers"], *([] if start is known else added)]},
        "Metadata": {"LastTagTime": now()},
    }


def _scratch(context: str) -> Image:
    layers = [digest(f"{context} {number}") for number in range(4)]
    about = {"Size": SCRATCH_SIZE, "RootFS": {"Type": "layers", "Layers": layers}, "Id": digest(context)}
    return inspect("vllm-node:latest") | about


def _context(folder: str) -> str:
    """A digest of the names and sizes of all files but those of git."""
    if not os.path.isdir(folder):
        raise DockerError(f"ERROR: unable to prepare context: path {folder!r} not found")
    paths = [os.path.join(place, name) for place, _, names in os.walk(folder) for name in names]
    sizes = {os.path.relpath(path, folder): os.path.getsize(path) for path in paths}
    return digest("\n".join(sorted(f"{path} {size}" for path, size in sizes.items() if not _of_git(path))))


def _of_git(path: str) -> bool:
    return ".git" in path.split(os.sep)[:-1]
