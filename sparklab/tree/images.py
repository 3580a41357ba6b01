"""The images that every node has, as `docker image inspect` shows them; equal on all nodes, so are their IDs."""

import json
from typing import Any

from sparklab.layout import captured

IMAGES: dict[str, dict[str, Any]] = json.loads(captured("images.json"))
"""By reference, without digests; `Layers` is the number of layers."""


def digest(text: str) -> str:
    import hashlib

    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def inspect(reference: str) -> dict[str, Any]:
    """One element of the list that `docker image inspect` prints; `SparklabKind` says which programs it holds."""
    image = IMAGES[reference]
    name = reference.partition(":")[0]
    layers = [digest(f"{reference} {number}") for number in range(image["RootFS"]["Layers"])]
    return image | {
        "Id": digest(reference + image["Created"]),
        "RepoDigests": [f"{name}@{digest('manifest ' + reference)}"] if "/" in reference else [],
        "RootFS": {"Type": "layers", "Layers": layers},
    }
