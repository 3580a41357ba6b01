"""The images of nodes and registries, as `docker image inspect` shows them; equal on all nodes, so are their IDs."""

import json
from typing import Any

from sparklab.layout import captured

IMAGES: dict[str, dict[str, Any]] = json.loads(captured("images.json"))
"""By reference, without digests; `Layers` is the number of layers."""

PULLED = ("ghcr.io/open-webui/open-webui:v0.11.4",)
"""Those that a new node does not have: it pulls them. It has all others."""

MANIFESTS = {
    "ghcr.io/berriai/litellm:v1.100.0": "sha256:c8756e7b9a61fe45df2ccb5b781d388c3b2f3a21ef9e4956630caef20f9f03aa",
    "ghcr.io/open-webui/open-webui:v0.11.4": "sha256:9591b13f13843c7721c2b8eaf7382846c81b3ffe126526d1888d1fed50c6a33f",
}
"""The digests of the real images that recipes and programs name; any text will do for the others."""


def digest(text: str) -> str:
    import hashlib

    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def manifest(reference: str) -> str:
    """The digest by which a registry has the image."""
    return MANIFESTS.get(reference) or digest(f"manifest {reference}")


def inspect(reference: str) -> dict[str, Any]:
    """One element of the list that `docker image inspect` prints; `SparklabKind` says which programs it holds."""
    image = IMAGES[reference]
    name = reference.partition(":")[0]
    layers = [digest(f"{reference} {number}") for number in range(image["RootFS"]["Layers"])]
    return image | {
        "Id": digest(reference + image["Created"]),
        "RepoDigests": [f"{name}@{manifest(reference)}"] if "/" in reference else [],
        "RootFS": {"Type": "layers", "Layers": layers},
    }
