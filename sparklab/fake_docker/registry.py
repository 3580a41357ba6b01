"""`docker pull` and `login`: a handful of published images; no other host can be reached."""

import base64
import os
import sys
import time
from typing import Any

from sparklab import files
from sparklab.fake_docker import images
from sparklab.fake_docker.errors import DockerError, daemon_says
from sparklab.fake_docker.flow import FULL
from sparklab.fake_docker.images import Image, find, normal
from sparklab.layout import Node
from sparklab.tools.say import out
from sparklab.tree.images import PULLED, inspect, manifest

LITELLM = "ghcr.io/berriai/litellm:v1.100.0"
MOVING = "ghcr.io/berriai/litellm:main-stable"
SPARK = ("eugr/spark-vllm:latest", "eugr/spark-vllm-b12x:latest")
NGC = tuple(f"nvcr.io/nvidia/vllm:{month}-py3" for month in ("25.09", "26.03", "26.04"))
VLLM = (*SPARK, "vllm/vllm-openai:latest", *NGC)
PUBLISHED = {
    **{LITELLM: LITELLM, MOVING: LITELLM},
    **dict.fromkeys(VLLM, "vllm-node:latest"),
    **dict(zip(PULLED, PULLED, strict=True)),
}
"""Published reference -> the image of `images.json` that its content equals."""

CLOSED = {"nvcr.io": "nvapi-lab"}
"""Hosts with logins -> the accepted password."""

PRIVATE = {"nvcr.io/nvidia/vllm:26.04-py3"}
"""References that need the login; the rest of a host is public, as on NGC."""

LAYER_SECONDS = 0.4


def pull(node: Node, options: dict[str, Any], names: list[str]) -> int:
    asked = names[0]
    name, _, wanted = asked.partition("@")
    fit = [one for one in PUBLISHED if normal(name) == one or (wanted and one.startswith(f"{name}:"))]
    reference = next((one for one in fit if manifest(one) == wanted), next(iter(fit), None))
    if reference is None:
        raise DockerError(unreachable(asked))
    host = reference.partition("/")[0]
    if reference in PRIVATE and host not in (files.read_json(_logins()) or {}).get("auths", {}):
        raise daemon_says("unauthorized: authentication required")
    published = manifest(reference)
    if wanted and wanted != published:
        raise daemon_says(f"manifest for {asked} not found: manifest unknown: manifest unknown")
    repository, _, version = reference.rpartition(":")
    image = inspect(PUBLISHED[reference]) | {"RepoDigests": [f"{repository}@{published}"]}
    there = find(node, image["Id"])
    out(f"{wanted or version}: Pulling from {repository}")
    _layers(node, image, new=there is None)
    images.put(node, image, *(there["RepoTags"] if there else []), *([] if wanted else [reference]))
    out(f"Digest: {published}")
    out(f"Status: {'Image is up to date' if there else 'Downloaded newer image'} for {asked}")
    return 0


def login(node: Node, options: dict[str, Any], hosts: list[str]) -> int:
    """`--username U --password-stdin HOST`: stores the credentials as Docker does."""
    host = hosts[0] if hosts else "https://index.docker.io/v1/"
    password = sys.stdin.readline().strip()
    if host in CLOSED and password != CLOSED[host]:
        raise daemon_says(f'Get "https://{host}/v2/": unauthorized: authentication required')
    os.makedirs(os.path.dirname(_logins()), exist_ok=True)
    secret = base64.b64encode(f"{options['username']}:{password}".encode()).decode()
    files.write_json(_logins(), {"auths": {host: {"auth": secret}}}, 0o600)
    out("Login Succeeded")
    return 0


def unreachable(reference: str) -> str:
    first = reference.partition("/")[0]
    host = first if "." in first else "registry-1.docker.io"
    lookup = f"dial tcp: lookup {host}: Temporary failure in name resolution"
    return f'Error response from daemon: Get "https://{host}/v2/": {lookup}'


def _layers(node: Node, image: Image, new: bool) -> None:
    layers = [layer[7:19] for layer in image["RootFS"]["Layers"]]
    for layer in layers:
        out(f"{layer}: {'Pulling fs layer' if new else 'Already exists'}")
    for layer in layers if new else ():
        time.sleep(node.seconds(LAYER_SECONDS))
        if node.fault("disk-full"):
            raise DockerError(f"failed to register layer: write /usr/lib/{layer}: {FULL}")
        out(f"{layer}: Pull complete")
        sys.stdout.flush()


def _logins() -> str:
    folder = os.environ.get("DOCKER_CONFIG") or os.path.join(os.environ.get("HOME", ""), ".docker")
    return os.path.join(folder, "config.json")
