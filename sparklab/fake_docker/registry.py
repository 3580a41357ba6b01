"""`docker pull` and `login`: a handful of published images; no other host can be reached."""

import base64
import json
import os
import sys
import time
from typing import Any

from sparklab import files
from sparklab.fake_docker import images
from sparklab.fake_docker.errors import DockerError, daemon_says
from sparklab.fake_docker.flow import FULL
from sparklab.fake_docker.images import find, normal
from sparklab.layout import Node
from sparklab.tools.say import out
from sparklab.tree.images import digest, inspect

PUBLISHED = {
    "ghcr.io/berriai/litellm:main-stable": "ghcr.io/berriai/litellm:main-stable",
    "eugr/spark-vllm:latest": "vllm-node:latest",
    "vllm/vllm-openai:latest": "vllm-node:latest",
    "nvcr.io/nvidia/vllm:26.04-py3": "vllm-node:latest",
}
"""Each looks like an image that nodes have."""

CLOSED = {"nvcr.io": "nvapi-lab"}
"""Hosts that ask for a login, and the password that opens them."""

LAYER_SECONDS = 0.4


def pull(node: Node, words: list[str]) -> int:
    asked = next(word for word in words if not word.startswith("-"))
    name, _, wanted = asked.partition("@")
    reference = next((one for one in PUBLISHED if normal(name) == one or (wanted and one.startswith(f"{name}:"))), None)
    if reference is None:
        raise DockerError(unreachable(asked))
    host = reference.partition("/")[0]
    if host in CLOSED and not _logged_in(host):
        raise daemon_says("unauthorized: authentication required")
    image = _published(reference)
    manifest = image["RepoDigests"][0].partition("@")[2]
    if wanted and wanted != manifest:
        raise daemon_says(f"manifest for {asked} not found: manifest unknown: manifest unknown")
    there = find(node, image["Id"])
    _say(node, image, wanted or reference.rpartition(":")[2], new=there is None)
    tags = [*(there["RepoTags"] if there else []), *([] if wanted else [reference])]
    images.put(node, image | {"RepoTags": tags})
    out(f"Digest: {manifest}")
    out(f"Status: {'Image is up to date' if there else 'Downloaded newer image'} for {asked}")
    return 0


def login(node: Node, words: list[str]) -> int:
    """`--username U --password-stdin HOST`; keeps what it was given as Docker does."""
    user = words[words.index("--username") + 1]
    host = words[-1] if not words[-1].startswith("-") else "https://index.docker.io/v1/"
    password = sys.stdin.readline().strip()
    if host in CLOSED and password != CLOSED[host]:
        raise daemon_says(f'Get "https://{host}/v2/": unauthorized: authentication required')
    folder = _folder()
    os.makedirs(folder, exist_ok=True)
    secret = base64.b64encode(f"{user}:{password}".encode()).decode()
    files.write(os.path.join(folder, "config.json"), json.dumps({"auths": {host: {"auth": secret}}}), 0o600)
    out("Login Succeeded")
    return 0


def unreachable(reference: str) -> str:
    host = reference.partition("/")[0] if "." in reference.partition("/")[0] else "registry-1.docker.io"
    lookup = f"dial tcp: lookup {host}: Temporary failure in name resolution"
    return f'Error response from daemon: Get "https://{host}/v2/": {lookup}'


def _published(reference: str) -> dict[str, Any]:
    image = inspect(PUBLISHED[reference])
    repository = reference.rpartition(":")[0]
    return image | {"RepoTags": [reference], "RepoDigests": [f"{repository}@{digest('manifest ' + reference)}"]}


def _say(node: Node, image: dict[str, Any], what: str, new: bool) -> None:
    layers = [layer[7:19] for layer in image["RootFS"]["Layers"]]
    out(f"{what}: Pulling from {image['RepoDigests'][0].partition('@')[0]}")
    for layer in layers:
        out(f"{layer}: {'Pulling fs layer' if new else 'Already exists'}")
    for layer in layers if new else ():
        time.sleep(node.seconds(LAYER_SECONDS))
        if node.fault("disk-full"):
            raise DockerError(f"failed to register layer: write /usr/lib/{layer}: {FULL}")
        out(f"{layer}: Pull complete")
        sys.stdout.flush()


def _folder() -> str:
    return os.environ.get("DOCKER_CONFIG") or os.path.join(os.environ.get("HOME", ""), ".docker")


def _logged_in(host: str) -> bool:
    found = files.read_json(os.path.join(_folder(), "config.json")) or {}
    return host in found.get("auths", {})
