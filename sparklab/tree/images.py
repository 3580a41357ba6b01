"""The images that every node has, as `docker image inspect` shows them; equal on all nodes, so are their IDs."""

from typing import Any

VLLM_PATH = "/usr/local/nvidia/bin:/usr/local/cuda/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

IMAGES: dict[str, dict[str, Any]] = {
    "vllm-node-mxfp4:latest": {
        "kind": "vllm-mxfp4",
        "created": "2026-10-02T18:21:44.518234771Z",
        "size": 24_611_274_532,
        "layers": 31,
        "entrypoint": ["/opt/nvidia/nvidia_entrypoint.sh"],
        "cmd": ["/bin/bash"],
        "workdir": "/workspace/vllm",
        "env": [
            f"PATH={VLLM_PATH}",
            "CUDA_VERSION=13.0.2",
            "VLLM_BUILD=0.1.dev12777+mxfp4",
            "VLLM_BASE_DIR=/workspace/vllm",
        ],
        "labels": {"org.opencontainers.image.ref.name": "ubuntu", "org.opencontainers.image.version": "24.04"},
    },
    "vllm-node:latest": {
        "kind": "vllm",
        "created": "2026-11-08T06:02:11.093412008Z",
        "size": 21_954_331_208,
        "layers": 28,
        "entrypoint": ["/opt/nvidia/nvidia_entrypoint.sh"],
        "cmd": ["/bin/bash"],
        "workdir": "/workspace/vllm",
        "env": [f"PATH={VLLM_PATH}", "CUDA_VERSION=13.0.2", "VLLM_BUILD=0.32.0", "VLLM_BASE_DIR=/workspace/vllm"],
        "labels": {"org.opencontainers.image.ref.name": "ubuntu", "org.opencontainers.image.version": "24.04"},
    },
    "ghcr.io/berriai/litellm:main-stable": {
        "kind": "litellm",
        "created": "2026-10-18T22:40:57.771500113Z",
        "size": 2_107_553_911,
        "layers": 14,
        "entrypoint": ["docker/prod_entrypoint.sh"],
        "cmd": ["--port", "4000"],
        "workdir": "/app",
        "env": [
            "PATH=/app/.venv/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "LITELLM_NON_ROOT=false",
        ],
        "labels": {},
    },
}


def digest(text: str) -> str:
    import hashlib

    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def inspect(reference: str) -> dict[str, Any]:
    """One element of the list that `docker image inspect` prints; `SparklabKind` says which programs it holds."""
    image = IMAGES[reference]
    name = reference.partition(":")[0]
    registry = "/" in reference
    return {
        "Id": digest(reference + image["created"]),
        "RepoTags": [reference],
        "RepoDigests": [f"{name}@{digest('manifest ' + reference)}"] if registry else [],
        "Parent": "",
        "Comment": "buildkit.dockerfile.v0",
        "Created": image["created"],
        "DockerVersion": "",
        "Author": "",
        "Config": {
            "User": "",
            "Env": image["env"],
            "Cmd": image["cmd"],
            "WorkingDir": image["workdir"],
            "Entrypoint": image["entrypoint"],
            "Labels": image["labels"],
        },
        "Architecture": "arm64",
        "Variant": "v8",
        "Os": "linux",
        "Size": image["size"],
        "GraphDriver": {"Data": {}, "Name": "overlay2"},
        "RootFS": {"Type": "layers", "Layers": [digest(f"{reference} {number}") for number in range(image["layers"])]},
        "Metadata": {"LastTagTime": image["created"] if not registry else "0001-01-01T00:00:00Z"},
        "SparklabKind": image["kind"],
    }
