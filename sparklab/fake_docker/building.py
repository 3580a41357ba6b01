"""`docker build`: prints the steps of the Dockerfile as BuildKit does and makes a record; nothing is executed."""

import os
import re
import time
from typing import Any

from sparklab import files
from sparklab.fake_docker import images
from sparklab.fake_docker.errors import DockerError
from sparklab.fake_docker.images import find, normal
from sparklab.fake_docker.store import now
from sparklab.layout import Node
from sparklab.tools.say import err, out
from sparklab.tree.images import IMAGES, digest, inspect

VALUED = ("-t", "--tag", "-f", "--file", "--label", "--build-arg", "--network", "--target", "--progress", "--platform")
SECONDS = 20.0
"""How long all steps together take on a lab node of speed 1."""
SCRATCH = {"kind": "vllm", "size": 35_000_000_000}


def main(node: Node, words: list[str]) -> int:
    options, rest = _options(words)
    if len(rest) != 1:
        raise DockerError('ERROR: docker: "docker build" requires exactly 1 argument')
    quiet = "-q" in words or "--quiet" in words
    file = options.get("-f", options.get("--file", [os.path.join(rest[0], "Dockerfile")]))[0]
    steps = _steps(file)
    if not quiet:
        _play(node, steps)
    tags = [normal(tag) for tag in options.get("-t", []) + options.get("--tag", [])]
    labels = dict(entry.partition("=")[::2] for entry in options.get("--label", []))
    image = _made(node, steps, tags, labels, options.get("--build-arg", []), _context(rest[0]))
    images.put(node, image)
    if quiet:
        out(image["Id"])
    return 0


def _options(words: list[str]) -> tuple[dict[str, list[str]], list[str]]:
    found: dict[str, list[str]] = {}
    rest: list[str] = []
    left = list(words)
    while left:
        word = left.pop(0)
        name, equals, value = word.partition("=")
        if name in VALUED:
            found.setdefault(name, []).append(value if equals else left.pop(0))
        elif not word.startswith("-"):
            rest.append(word)
    return found, rest


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
            err(
                f'ERROR: failed to solve: process "/bin/sh -c {step[4:]}" did not complete successfully: exit code: 127'
            )
            raise DockerError("")
        err(f"#{number + 4} DONE 0.1s")


def _made(
    node: Node, steps: list[str], tags: list[str], labels: dict[str, str], args: list[str], context: str
) -> dict[str, Any]:
    """Known names look as if they came with the node; others inherit from their base, or stand for 35 GB."""
    base = next((find(node, step.split()[1]) for step in steps if step.startswith("FROM ")), None)
    known = next((inspect(tag) for tag in tags if tag in IMAGES and not base), None)
    start = base or known or _scratch(context)
    key = "\n".join([*steps, *tags, *args, context, *(f"{k}={v}" for k, v in sorted(labels.items()))])
    config = start["Config"]
    layers = start["RootFS"]["Layers"]
    added = [digest(f"{step} {context}") for step in steps if step.startswith(("RUN", "COPY", "ADD"))]
    return start | {
        "Id": digest(key + str(start["Id"])),
        "RepoTags": tags,
        "RepoDigests": [],
        "Created": now(),
        "Config": config | {"Labels": (config.get("Labels") or {}) | labels},
        "RootFS": {"Type": "layers", "Layers": layers if known and not base else [*layers, *added]},
        "Metadata": {"LastTagTime": now()},
    }


def _scratch(context: str) -> dict[str, Any]:
    image = inspect("vllm-node:latest")
    layers = [digest(f"{context} {number}") for number in range(4)]
    return image | {"Size": SCRATCH["size"], "RootFS": {"Type": "layers", "Layers": layers}, "Id": digest(context)}


def _context(folder: str) -> str:
    """What the files are, told by their names and sizes."""
    if not os.path.isdir(folder):
        raise DockerError(f"ERROR: unable to prepare context: path {folder!r} not found")
    found = []
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name != ".git"]
        found += [
            f"{os.path.relpath(os.path.join(place, n), folder)} {os.path.getsize(os.path.join(place, n))}"
            for n in names
        ]
    return digest("\n".join(sorted(found)))
